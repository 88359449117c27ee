"""A tiny LLaVA with its own tokenizer, made from configurations: the real code of transformers, no download.

Its answers are gibberish. They depend on prompt and picture, which is what the tests need.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers, trainers
from tokenizers.models import BPE
from transformers import (
    CLIPImageProcessor,
    CLIPVisionConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
)

SIDE, PATCH = 28, 14
TEMPLATE = (
    "{% for message in messages %}{{ message['role'].upper() }}: {% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>\n{% else %}{{ part['text'] }}{% endif %}{% endfor %}\n{% endfor %}"
    "{% if add_generation_prompt %}ASSISTANT:{% endif %}"
)


def tokenizer() -> Any:
    """Bytes, and a few merges."""
    made = Tokenizer(BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        special_tokens=["<pad>", "<s>", "</s>", "<image>"],
        show_progress=False,
    )
    made.train_from_iterator(["USER: What is this? Options: A. B. C. D. ASSISTANT: I do not know."], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        extra_special_tokens={"image_token": "<image>"},
    )


def text_config(size: int) -> Any:
    return LlamaConfig(
        vocab_size=size, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=2048, pad_token_id=0, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip


def write(folder: Path, template: str | None = TEMPLATE, **generation: Any) -> Path:
    """Save model and processor; `generation` goes into its own generation settings."""
    words = tokenizer()
    vision = CLIPVisionConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, image_size=SIDE,
        patch_size=PATCH, projection_dim=32,
    )  # fmt: skip
    config = LlavaConfig(
        vision_config=vision,
        text_config=text_config(len(words)),
        image_token_id=words.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
        vision_feature_select_strategy="default",
        image_seq_length=(SIDE // PATCH) ** 2,
    )
    torch.manual_seed(0)
    model = LlavaForConditionalGeneration(config).eval()
    # Weights as they are drawn are so small that every picture looks the same.
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim > 1:
                weight.mul_(8)
    model.generation_config.update(**generation)
    pictures = CLIPImageProcessor(size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE})
    processor = LlavaProcessor(
        image_processor=pictures,
        tokenizer=words,
        patch_size=PATCH,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=template,
    )
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
