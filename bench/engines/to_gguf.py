"""Makes the GGUF twin of the tiny model by llama.cpp's own converter.

python to_gguf.py LLAMA_CPP_SOURCE MODEL_FOLDER FILE.gguf

The converter knows a tokenizer's way to split texts by a checksum over what it makes of a sample. It cannot know that of a vocabulary
that was just made, so it is told: the pattern is Qwen2's.
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
