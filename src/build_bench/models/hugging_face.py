"""Image-text-to-text models through transformers, on this machine. Nothing else imports torch or transformers."""

from __future__ import annotations

import importlib.util
from collections.abc import Generator, Iterable, Mapping
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Any

from build_bench import imaging
from build_bench.errors import InputError, NetworkError, UsageError
from build_bench.filters.inputs import FirstTurn
from build_bench.models import ANSWERED, FAILED, Answer, Options, cache_name

NEEDED = ("torch", "transformers", "accelerate")


class HuggingFace:
    """`hf:NAME`, a model of the Hub or a folder. Greedy, whatever its own generation settings say.

    Raises `UsageError` (a package is missing), `InputError` (no such model, or none of this sort), `NetworkError`.
    """

    def __init__(self, name: str, options: Options) -> None:
        absent = [package for package in NEEDED if importlib.util.find_spec(package) is None]
        if absent:
            raise UsageError(
                f"--model hf:{name} needs {', '.join(absent)}: not installed",
                "pip install 'build-bench[predict]'",
            )
        self.name = cache_name(f"hf:{name}")
        self._batch, self._tokens = options.batch_size, options.max_tokens
        self._device, self._dtype = _device()
        self._processor, self._model = _load(name, self._device, self._dtype)
        tokenizer = getattr(self._processor, "tokenizer", self._processor)
        if not getattr(self._processor, "chat_template", None) and not getattr(tokenizer, "chat_template", None):
            raise InputError(f"hf:{name} has no chat template", "without one nobody knows how it wants to be asked")
        tokenizer.padding_side = "left"  # an answer goes on where the prompt ends
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token = tokenizer.eos_token
        self._model.generation_config.update(
            do_sample=False, num_beams=1, temperature=None, top_p=None, top_k=None,
            max_new_tokens=self._tokens, max_length=None, pad_token_id=tokenizer.pad_token_id,
        )  # fmt: skip

    @property
    def runtime(self) -> Mapping[str, Any]:
        """All that the answers are a function of, beside the prompt and the picture."""
        generation = self._model.generation_config.to_diff_dict()
        config = self._model.config
        return {
            "versions": {package: metadata.version(package) for package in (*NEEDED, "pillow")},
            "device": self._device,
            "dtype": self._dtype,
            "attention": getattr(config, "_attn_implementation", None),
            "revision": getattr(config, "_commit_hash", None),
            "batch_size": self._batch,
            "generation": {key: value for key, value in generation.items() if _is_plain(value)},
        }

    def answers(self, turns: Iterable[FirstTurn]) -> Generator[tuple[FirstTurn, Answer]]:
        """One answer each, in order, a batch at a time."""
        waiting = iter(turns)
        while batch := list(islice(waiting, self._batch)):
            yield from zip(batch, self._answer(batch), strict=True)

    def _answer(self, batch: list[FirstTurn]) -> list[Answer]:
        """Answers to a batch. What doesn't fit into memory is halved, down to one sample, which then has failed; and a
        picture that the processor refuses (some can't take tiny crops) is found the same way."""
        try:
            return [Answer(ANSWERED, text) for text in self._generate(batch)]
        except (MemoryError, RuntimeError) as error:
            if not _out_of_memory(error):
                raise
            why, full = f"out of memory: {_first_line(error)}", True
        except (ValueError, TypeError) as error:
            why, full = f"the model's processor refuses it: {_first_line(error)}", False
        # Not in the handler: its traceback would keep the tensors alive.
        _free(self._device)
        if len(batch) == 1:
            return [Answer(FAILED, why)]
        half = len(batch) // 2
        if full:
            self._batch = min(self._batch, half)
        return self._answer(batch[:half]) + self._answer(batch[half:])

    def _generate(self, batch: list[FirstTurn]) -> list[str]:
        import torch

        asked = [_conversation(turn) for turn in batch]
        inputs = self._processor.apply_chat_template(
            asked,
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            processor_kwargs={"padding": True, "return_tensors": "pt"},
        ).to(self._model.device, self._model.dtype)
        with torch.inference_mode():
            written = self._model.generate(**inputs)
        if not self._model.config.is_encoder_decoder:
            written = written[:, inputs["input_ids"].shape[1] :]
        return [str(text) for text in self._processor.batch_decode(written, skip_special_tokens=True)]


def _conversation(turn: FirstTurn) -> list[dict[str, Any]]:
    picture = imaging.decode(turn.picture, turn.episode.view.crop)
    return [{"role": "user", "content": [{"type": "image", "image": picture}, {"type": "text", "text": turn.prompt}]}]


def _device() -> tuple[str, str]:
    """Where to run, and in which precision: bfloat16 as the published evaluator, where the hardware has it."""
    import torch

    if torch.cuda.is_available():
        return "cuda", "bfloat16" if torch.cuda.is_bf16_supported() else "float16"
    if torch.backends.mps.is_available():
        return "mps", "float16"
    return "cpu", "float32"  # half precision is slower there


def _load(name: str, device: str, dtype: str) -> tuple[Any, Any]:
    import torch
    from transformers import AutoModelForImageTextToText, AutoProcessor

    try:
        processor = AutoProcessor.from_pretrained(name)
        model = AutoModelForImageTextToText.from_pretrained(
            name, dtype=getattr(torch, dtype), device_map="auto" if device == "cuda" else device
        )
    except OSError as error:
        if "connect" in str(error) and not Path(name).exists():
            raise NetworkError(
                f"hf:{name} can't be downloaded: {_first_line(error)}",
                "run again when there is a network, or name a folder that has the model",
            ) from error
        raise InputError(
            f"hf:{name} can't be loaded: {_first_line(error)}", "is it a model of the Hub, or a folder?"
        ) from error
    except (ValueError, KeyError, ImportError, AttributeError) as error:
        raise InputError(
            f"hf:{name} can't be loaded: {_first_line(error)}",
            "it must be an image-text-to-text model; some need more: pip install torchvision",
        ) from error
    return processor, model.eval()


def _out_of_memory(error: BaseException) -> bool:
    """CUDA has a class of its own for it, MPS and the CPU's allocator only words."""
    import torch

    text = str(error).lower()
    words = ("out of memory", "can't allocate memory", "not enough memory")
    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or any(word in text for word in words)


def _free(device: str) -> None:
    import torch

    if device in ("cuda", "mps"):
        getattr(torch, device).empty_cache()


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, int, float, bool, list))
