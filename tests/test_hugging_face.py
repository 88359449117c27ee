"""hf: through transformers itself: a tiny LLaVA that really generates, on the CPU. Needs the extra `predict`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from build_bench import imaging, models
from build_bench.errors import InputError, NetworkError
from build_bench.filters import inputs, predictions
from build_bench.filters.inputs import VERDICTS, FirstTurn
from build_bench.models import ANSWERED, FAILED, Answer, Options
from build_bench.models.hugging_face import HuggingFace
from build_bench.predicting import predict
from build_bench.store import Work
from tests.asked import SCENARIO, TOKENS, build, killed_run, request, rows

torch = pytest.importorskip("torch", reason="pip install '.[predict]', or make test-models")
pytest.importorskip("transformers", reason="pip install '.[predict]', or make test-models")


OPTIONS = Options(max_tokens=TOKENS)


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """A model this small is faster so, and many times as fast where the cores are busy."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests import tiny_llava

    # Its own settings sample, as those of many published models do.
    sampling = {"do_sample": True, "temperature": 1.5, "top_p": 0.9, "top_k": 40}
    return tiny_llava.write(tmp_path_factory.mktemp("models") / "tiny", **sampling)


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Work:
    return build(tmp_path_factory.mktemp("built"))


@pytest.fixture
def work(once: Work, tmp_path: Path) -> Work:
    shutil.copytree(once.root, tmp_path / "work")
    return Work(tmp_path / "work", tmp_path / "work" / "raw")


@pytest.fixture(scope="module")
def turns(once: Work) -> list[FirstTurn]:
    return list(inputs.first_turns(once, SCENARIO))


@pytest.fixture
def model(folder: Path) -> HuggingFace:
    return HuggingFace(str(folder), OPTIONS)


def ask(asked: HuggingFace, turns: Sequence[FirstTurn]) -> list[Answer]:
    found = list(asked.answers(turns))
    assert [turn for turn, _ in found] == list(turns)
    return [answer for _, answer in found]


@pytest.fixture(scope="module")
def one_by_one(folder: Path, turns: list[FirstTurn]) -> list[Answer]:
    return ask(HuggingFace(str(folder), Options(max_tokens=TOKENS, batch_size=1)), turns)


def test_every_sample_is_answered_and_everything_recorded(work: Work, folder: Path, one_by_one: list[Answer]) -> None:
    report = predict(work, f"hf:{folder}", request(options=OPTIONS))
    found = rows(work, models.cache_name(f"hf:{folder}"))
    assert report["model"] == models.cache_name(f"hf:{folder}")
    assert list(found["answer"]) == [answer.text for answer in one_by_one]
    assert set(found["verdict"]) <= set(VERDICTS)
    runtime = json.loads(found["runtime"][0])
    assert runtime.keys() == {"versions", "device", "dtype", "attention", "revision", "batch_size", "generation"}
    assert runtime["versions"].keys() == {"torch", "transformers", "accelerate", "pillow"}
    assert runtime["generation"].items() >= {"do_sample": False, "max_new_tokens": TOKENS, "num_beams": 1}.items()
    assert not {"temperature", "top_p", "top_k"} & runtime["generation"].keys()
    assert str(folder.parent) not in found["runtime"][0]


def test_it_looks_at_the_picture_and_reads_the_prompt(turns: list[FirstTurn], model: HuggingFace) -> None:
    first, second = turns[:2]
    mixed = FirstTurn(first.row, second.picture)
    answers = [answer.text for answer in ask(model, [first, second, mixed])]
    assert len(set(answers)) == 3
    assert all(answers)


def test_batches_change_no_answer(
    folder: Path, turns: list[FirstTurn], model: HuggingFace, one_by_one: list[Answer]
) -> None:
    assert ask(model, turns) == one_by_one
    assert ask(HuggingFace(str(folder), Options(max_tokens=TOKENS, batch_size=3)), turns) == one_by_one


def test_what_is_shown_is_the_prompt_word_for_word_and_the_crop(
    turns: list[FirstTurn], model: HuggingFace, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Any] = []
    template = model._processor.apply_chat_template

    def spy(conversations: Any, **how: Any) -> Any:
        shown.extend(conversations)
        return template(conversations, **how)

    monkeypatch.setattr(model._processor, "apply_chat_template", spy)
    ask(model, turns[:2])
    for (message,), turn in zip(shown, turns, strict=False):
        picture, text = message["content"]
        assert text["text"] == turn.prompt
        assert picture["image"].tobytes() == imaging.decode(turn.picture, turn.episode.view.crop).tobytes()
        assert turn.episode.view.crop


class Memory:
    """Stands before `generate`: room for so many samples at once."""

    def __init__(self, model: HuggingFace, room: int, error: type[Exception] | None = None, text: str = "") -> None:
        self._generate, self._room = model._model.generate, room
        self._error = error or torch.OutOfMemoryError
        self._text = text or "CUDA out of memory. Tried to allocate 2.00 GiB.\nSee documentation"
        self.sizes: list[int] = []
        model._model.generate = self

    def __call__(self, **given: Any) -> Any:
        size = len(given["input_ids"])
        self.sizes.append(size)
        if size > self._room:
            raise self._error(self._text)
        return self._generate(**given)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (None, ""),
        (RuntimeError, "MPS backend out of memory (MPS allocated: 8 GB)"),
        (RuntimeError, "[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory"),
        (MemoryError, " "),
    ],
)
def test_where_memory_runs_out_batches_are_halved_and_stay_so(
    error: Any, text: str, turns: list[FirstTurn], model: HuggingFace, one_by_one: list[Answer]
) -> None:
    memory = Memory(model, 3, error, text)
    assert ask(model, turns) == one_by_one
    assert memory.sizes[:6] == [8, 4, 2, 2, 4, 2]
    assert max(memory.sizes[7:]) == 2
    assert model.runtime["batch_size"] == 2


def test_what_does_not_fit_alone_has_failed(turns: list[FirstTurn], model: HuggingFace) -> None:
    Memory(model, 0)
    found = ask(model, turns[:3])
    assert {answer.outcome for answer in found} == {FAILED}
    assert found[0].text == "out of memory: CUDA out of memory. Tried to allocate 2.00 GiB."


def test_a_picture_that_the_processor_refuses_fails_alone(
    turns: list[FirstTurn], model: HuggingFace, one_by_one: list[Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    template = model._processor.apply_chat_template
    refused = imaging.decode(turns[4].picture, turns[4].episode.view.crop).tobytes()

    def refuse(conversations: Any, **how: Any) -> Any:
        pictures = [conversation[0]["content"][0]["image"].tobytes() for conversation in conversations]
        if refused in pictures:
            raise ValueError("height: 4 and width: 9 must be larger than factor: 28")
        return template(conversations, **how)

    monkeypatch.setattr(model._processor, "apply_chat_template", refuse)
    found = ask(model, turns)
    assert [place for place, answer in enumerate(found) if answer.outcome == FAILED] == [4]
    assert "must be larger than" in found[4].text
    assert found[:4] + found[5:] == one_by_one[:4] + one_by_one[5:]
    assert model.runtime["batch_size"] == 8


def test_a_mistake_is_not_taken_for_a_lack_of_memory(turns: list[FirstTurn], model: HuggingFace) -> None:
    Memory(model, 0, RuntimeError, "mat1 and mat2 shapes cannot be multiplied")
    with pytest.raises(RuntimeError, match="shapes"):
        ask(model, turns)


def test_killed_in_the_middle_it_loses_and_repeats_nothing(work: Work, folder: Path, one_by_one: list[Answer]) -> None:
    name = f"hf:{folder}"
    killed_run(work, name, "add", 5, 60.0, OMP_NUM_THREADS="1")
    asked: list[str] = []

    class Watched(HuggingFace):
        def answers(self, turns: Any) -> Any:
            for turn, answer in super().answers(turns):
                asked.append(turn.row["id"])
                yield turn, answer

    predict(work, name, request(options=OPTIONS), lambda _, options: Watched(str(folder), options))
    everything = list(inputs.read(work, SCENARIO).table["id"])
    assert asked == everything[5:]
    assert list(rows(work, models.cache_name(f"hf:{folder}"))["id"]) == everything
    assert list(rows(work, models.cache_name(f"hf:{folder}"))["answer"]) == [answer.text for answer in one_by_one]
    assert predictions.FAILED not in set(rows(work, models.cache_name(f"hf:{folder}"))["verdict"])


@pytest.fixture(scope="module")
def unusable(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders that are no image-text-to-text model, or not one that can be asked."""
    from transformers import LlamaForCausalLM

    from tests import tiny_llava

    root = tmp_path_factory.mktemp("unusable")
    words = tiny_llava.tokenizer()
    LlamaForCausalLM(tiny_llava.text_config(len(words))).save_pretrained(root / "text only")
    words.save_pretrained(root / "text only")
    (root / "empty").mkdir()
    tiny_llava.write(root / "no template", template=None)
    return {path.name: path for path in root.iterdir()}


@pytest.mark.parametrize("which", ["text only", "empty", "no template"])
def test_a_folder_that_can_not_be_asked_is_told_why(which: str, unusable: dict[str, Path]) -> None:
    with pytest.raises(InputError) as told:
        HuggingFace(str(unusable[which]), Options())
    assert which in told.value.message
    assert told.value.hint
    assert "\n" not in told.value.message


def test_a_model_that_can_not_be_downloaded_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    # Read from the environment once, when it is imported.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(NetworkError, match="hf:nobody/nothing can't be downloaded"):
        HuggingFace("nobody/nothing", Options())


def test_an_answer_is_what_was_written_after_the_prompt(turns: list[FirstTurn], model: HuggingFace) -> None:
    (answer,) = ask(model, turns[:1])
    assert answer.outcome == ANSWERED
    assert "Choose from" not in answer.text
    assert "ASSISTANT" not in answer.text
