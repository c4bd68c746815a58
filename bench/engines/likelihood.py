"""Computes the likelihoods of `awb likelihood` by transformers' own forward pass.

python likelihood.py MODEL_FOLDER likelihood.jsonl

Prints a line of JSON per row: awb's nats and tokens, and those computed here. The model's template renders the reply. A token that
contains any part of the truth counts in full.
"""

import json
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

MARKER = "**Environment Observation:**"
TAG = "predicted_observation"


def messages(row, truth):
    if row["system_str"]:
        yield {"role": "system", "content": row["system_str"]}
    last = row["turn_idx"] - 1
    for turn in range(last):
        yield {"role": "user", "content": row["prompt"][turn]}
        yield {"role": "assistant", "content": row["response"][turn]}
    yield {"role": "user", "content": row["prompt"][last]}
    yield {"role": "assistant", "content": f"<{TAG}>\n{truth}\n</{TAG}>"}


@torch.no_grad()
def nats(model, tokenizer, row):
    truth = row["response"][row["turn_idx"] - 1].strip().removeprefix(MARKER).strip()
    text = tokenizer.apply_chat_template(list(messages(row, truth)), tokenize=False, add_generation_prompt=False)
    start = text.rindex(truth)
    encoded = tokenizer(text, return_offsets_mapping=True, return_tensors="pt")
    numbers = encoded.input_ids
    scores = model(numbers).logits[0, :-1].double().log_softmax(-1)
    spans = encoded.offset_mapping[0, 1:].tolist()
    counted = [at for at, (low, high) in enumerate(spans) if high > start and low < start + len(truth)]
    return -sum(scores[at, numbers[0, at + 1]].item() for at in counted), len(counted)


def main(folder, file):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype="float32").eval()
    with open(file, encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            told = row["awb"]["judge"]["truth"]
            if told is None:
                continue
            found, tokens = nats(model, tokenizer, row)
            print(json.dumps({"awb": [told["nats"], told["tokens"]], "here": [found, tokens]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
