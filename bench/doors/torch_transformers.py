#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small random models of transformers: five training steps, an archive, and its replay by the command.

    PYTHONPATH=python REPRISE_COMMAND=build/release/reprise python bench/doors/torch_transformers.py [--only gpt2,..]

Each is compiled with its first gradients compared with PyTorch's, trained for five steps of AdamW and recorded; then
`reprise verify` and `reprise replay` run on the archive, without Python. The exit status is 1 where one does not hold."""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from typing import Any

import torch
import transformers as tf

import reprise.torch as rt

warnings.filterwarnings("ignore")
tf.logging.set_verbosity_error()
WIDTH, HEADS, LAYERS, WORDS, BATCH, LENGTH = 32, 4, 2, 97, 2, 12
SMALL = {"hidden_size": WIDTH, "intermediate_size": 2 * WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
         "vocab_size": WORDS}


class Loss(torch.nn.Module):
    """A model of transformers with its own loss; what is in `more` is given each time."""

    def __init__(self, model: Any, **more: Any) -> None:
        super().__init__()
        self.model, self.more = model, more

    def forward(self, **batch: torch.Tensor) -> torch.Tensor:
        return self.model(**batch, **self.more).loss


def tokens(n: int = LENGTH, words: int = WORDS) -> torch.Tensor:
    return torch.randint(0, words, (BATCH, n))


def language(model: Any) -> tuple[Any, Any]:
    def batch() -> dict[str, torch.Tensor]:
        ids = tokens()
        return {"input_ids": ids, "labels": ids}
    return Loss(model, use_cache=False), batch


def gpt2() -> tuple[Any, Any]:
    return language(tf.GPT2LMHeadModel(tf.GPT2Config(vocab_size=WORDS, n_positions=32, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS,
                                                     bos_token_id=0, eos_token_id=0)))


def llama() -> tuple[Any, Any]:
    return language(tf.LlamaForCausalLM(tf.LlamaConfig(**SMALL, num_key_value_heads=2, max_position_embeddings=32)))


def mistral() -> tuple[Any, Any]:
    return language(tf.MistralForCausalLM(tf.MistralConfig(**SMALL, num_key_value_heads=2, max_position_embeddings=32, sliding_window=8)))


def bert() -> tuple[Any, Any]:
    model = tf.BertForSequenceClassification(tf.BertConfig(**SMALL, max_position_embeddings=32, num_labels=3))

    def batch() -> dict[str, torch.Tensor]:
        mask = torch.ones(BATCH, LENGTH, dtype=torch.int64)
        mask[0, -3:] = 0
        return {"input_ids": tokens(), "attention_mask": mask, "labels": torch.randint(0, 3, (BATCH,))}
    return Loss(model), batch


def t5() -> tuple[Any, Any]:
    model = tf.T5ForConditionalGeneration(tf.T5Config(vocab_size=WORDS, d_model=WIDTH, d_kv=8, d_ff=2 * WIDTH, num_layers=LAYERS,
                                                      num_heads=HEADS, decoder_start_token_id=0, pad_token_id=0, eos_token_id=1))
    return Loss(model, use_cache=False), lambda: {"input_ids": tokens(), "labels": tokens(7)}


def vit() -> tuple[Any, Any]:
    config = {k: v for k, v in SMALL.items() if k != "vocab_size"}
    model = tf.ViTForImageClassification(tf.ViTConfig(**config, image_size=16, patch_size=4, num_labels=3))
    return Loss(model), lambda: {"pixel_values": torch.randn(BATCH, 3, 16, 16), "labels": torch.randint(0, 3, (BATCH,))}


def whisper() -> tuple[Any, Any]:
    model = tf.WhisperForConditionalGeneration(tf.WhisperConfig(
        vocab_size=WORDS, d_model=WIDTH, encoder_layers=LAYERS, decoder_layers=LAYERS, encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS, encoder_ffn_dim=2 * WIDTH, decoder_ffn_dim=2 * WIDTH, num_mel_bins=8, max_source_positions=12,
        max_target_positions=16, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=3,
        suppress_tokens=None, begin_suppress_tokens=None))
    return Loss(model, use_cache=False), lambda: {"input_features": torch.randn(BATCH, 8, 24), "labels": tokens(7)}


def mamba() -> tuple[Any, Any]:
    model = tf.MambaForCausalLM(tf.MambaConfig(vocab_size=WORDS, hidden_size=WIDTH, state_size=4, num_hidden_layers=LAYERS,
                                               pad_token_id=0, bos_token_id=0, eos_token_id=0))
    return language(model)


MODELS = {"gpt2": gpt2, "llama": llama, "mistral": mistral, "bert": bert, "t5": t5, "vit": vit, "whisper": whisper, "mamba": mamba}


def command(*arguments: str) -> None:
    found = subprocess.run([os.environ.get("REPRISE_COMMAND", "reprise"), *arguments], capture_output=True, text=True, timeout=300)
    if found.returncode:
        raise RuntimeError(f"reprise {arguments[0]}: {found.stderr.strip() or found.stdout.strip()}"[:300])


def measured(name: str, folder: str) -> str:
    torch.manual_seed(0)
    model, batch = MODELS[name]()
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    began = time.time()
    step = rt.compile(model, None, batch(), optimizer, bound=1e-3)
    compiled = time.time() - began
    path = os.path.join(folder, f"{name}.reprise")
    losses = []
    with rt.record(path, seed=7):
        for _ in range(5):
            losses.append(float(step(**batch())))
    if not all(x == x and abs(x) < 1e4 for x in losses):
        raise RuntimeError(f"losses {losses}")
    command("verify", "--allow-unsigned", path)
    command("replay", path)
    check = step.origin.get("gradients", step.origin)
    return (f"passed losses {losses[0]:.4f} .. {losses[-1]:.4f}, instructions {len(step.program)}, compiled in {compiled:.1f} s, "
            f"archive {os.path.getsize(path) // 1024} KiB, gradients {check}")[:500]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    names = arguments.only.split(",") if arguments.only else list(MODELS)
    good = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            try:
                text = measured(name, folder)
            except Exception as e:
                text = f"FAILED {type(e).__name__}: {str(e)[:600]}"
            good += text.startswith("passed")
            print(f"{name}: {text}", flush=True)
    print(f"{good} of {len(names)} models trained, recorded and replayed; torch {torch.__version__}, transformers {tf.__version__}")
    return 0 if good == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
