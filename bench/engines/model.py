"""Makes a tiny model of Qwen3's architecture with its own tokenizer, in Hugging Face's format.

python model.py FOLDER TEXT.jsonl ...

The weights are random, so its output is meaningless and depends on everything it reads. A few hand-set edges between tokens make a chat
reply end: with a thought and a predicted observation, or, with thinking switched off (`enable_thinking` false), with a judge's verdict.
If the template's variable `task` is "free", it writes random tokens instead.
"""

import json
import sys
from pathlib import Path

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GenerationConfig, PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

CONTEXT = 32768
MERGED = 1024
HIDDEN = 64
EDGES = 12
STRENGTH = 6.0

# The pattern that llama.cpp calls "qwen2", so that the converted model splits texts like this one.
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
END = "<|im_end|>"
SPECIAL = ["<|endoftext|>", "<|im_start|>", END]
OBSERVATION = ["<think>", "hm", "</think>", "<predicted_observation>", "ok", "</predicted_observation>"]
VERDICT = [
    '{"facts": [{"claim": "The command is answered.", "kind": "determined", "met": true}], ',
    '"strengths": ["It is short."], "weaknesses": [], ',
    '"scores": {"format": 5, "factuality": 3, "consistency": 4, "realism": 3, "quality": 2}}',
]

# A system message is a message of its own, thoughts of earlier replies are left out, and a given reply starts without a thought.
TEMPLATE = (
    "{%- for message in messages -%}"
    "{{- '<|im_start|>' + message.role + '\\n' -}}"
    "{%- if message.role == 'assistant' and '</think>' in message.content -%}"
    "{{- message.content.split('</think>')[-1].lstrip('\\n') -}}"
    "{%- else -%}{{- message.content -}}{%- endif -%}"
    "{{- '<|im_end|>\\n' -}}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}"
    "{{- '<|im_start|>assistant\\n' -}}"
    "{%- if enable_thinking is defined and enable_thinking is false -%}{{- '<think>\\n\\n</think>\\n\\n' -}}{%- endif -%}"
    "{%- if task is defined and task == 'free' -%}{{- ' ' -}}{%- endif -%}"
    "{%- endif -%}"
)


def texts(paths):
    for path in paths:
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            yield from (part for key in ("prompt", "response") for part in row[key])


def make_tokenizer(paths):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(SPLIT), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=MERGED, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts(paths), trainer)
    tokenizer = with_tokens(tokenizer, VERDICT)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=END, pad_token="<|endoftext|>", clean_up_tokenization_spaces=False
    )
    fast.add_special_tokens({"additional_special_tokens": SPECIAL})
    fast.add_tokens(OBSERVATION)
    fast.chat_template = TEMPLATE
    fast.model_max_length = CONTEXT
    return fast


def in_bytes(text):
    """A text in the vocabulary's spelling, which writes a space as another character."""
    return text.replace(" ", "Ġ")


def with_tokens(tokenizer, more):
    """The tokenizer with more tokens that no text is ever split into, so that only the model writes them.

    As added tokens they would not count as text when replies are constrained to a schema.
    """
    written = json.loads(tokenizer.to_str())
    vocabulary = written["model"]["vocab"]
    for text in more:
        vocabulary[in_bytes(text)] = len(vocabulary)
    return Tokenizer.from_str(json.dumps(written))


def edges(tokenizer):
    """Pairs of token ids: a token and the one that follows it."""
    (line_feed,), (two,) = tokenizer.encode("\n"), tokenizer.encode("\n\n")
    for start, chain in ((line_feed, OBSERVATION), (two, VERDICT)):
        path = [start, *map(tokenizer.convert_tokens_to_ids, [*map(in_bytes, chain), END])]
        yield from zip(path, path[1:], strict=False)


@torch.no_grad()
def make_model(tokenizer):
    torch.manual_seed(7)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=HIDDEN,
        intermediate_size=2 * HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        dtype="float32",
    )
    model = Qwen3ForCausalLM(config).eval()
    # Large enough that the input changes the reply, and that the two likeliest tokens are far apart.
    for name, weights in model.named_parameters():
        if weights.dim() == 2:
            weights.normal_(std=HIDDEN**-0.5)
    embedding, head = model.get_input_embeddings().weight, model.get_output_embeddings().weight
    embedding.copy_(torch.randint(0, 2, embedding.shape) * 2.0 - 1.0)
    # Each edge has its own dimension that nothing else writes to, so that random texts do not trigger it.
    embedding[:, :EDGES] = 0
    for layer in model.model.layers:
        layer.self_attn.o_proj.weight[:EDGES] = 0
        layer.mlp.down_proj.weight[:EDGES] = 0
    for place, (before, after) in enumerate(edges(tokenizer)):
        embedding[before, place] = STRENGTH
        head[after, place] = STRENGTH
    model.generation_config = GenerationConfig(eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id)
    return model


def main(folder, *paths):
    tokenizer = make_tokenizer(paths)
    make_model(tokenizer).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
