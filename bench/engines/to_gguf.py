"""Converts the tiny model to GGUF with llama.cpp's own converter.

python to_gguf.py LLAMA_CPP_SOURCE MODEL_FOLDER FILE.gguf

The converter identifies a tokenizer's splitting pattern by a checksum over a tokenized sample. It does not know the checksum of a new
vocabulary, so this script sets the pattern: Qwen2's.
"""

import runpy
import sys
from pathlib import Path


def main(source, model, file):
    converter = Path(source) / "convert_hf_to_gguf.py"
    for folder in (converter.parent, converter.parent / "gguf-py"):
        sys.path.insert(0, str(folder))
    from conversion.base import TextModel

    TextModel.get_vocab_base_pre = lambda self, tokenizer: "qwen2"
    sys.argv = [str(converter), model, "--outfile", file, "--outtype", "f32"]
    runpy.run_path(str(converter), run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
