"""GRPO with Toggle, complete and small: a random model of 30 kB on the CPU, in under a minute.

    pip install "$(echo dist/*.whl)[trl]"  # after `make dist`
    python examples/trl_grpo.py

The task: say the letter that was asked for. The model babbles, so a long answer is right more often
than a short one; without a budget it would learn to babble on.
"""

from __future__ import annotations

import argparse
import string
from typing import Any

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM, set_seed
from transformers.trainer_callback import PrinterCallback
from trl import GRPOConfig, GRPOTrainer

from toggle_rs.integrations.trl import ToggleReward

LETTERS = string.ascii_lowercase[:6]
PAD, END = "<pad>", "<end>"


def has_letter(completions: list[str], letter: list[str], **_: Any) -> list[float]:
    """1 for an answer with the letter in it, else 0."""
    return [float(wanted in text.split()) for text, wanted in zip(completions, letter, strict=True)]


def make_tokenizer() -> PreTrainedTokenizerFast:
    """A word is a token."""
    words = {word: i for i, word in enumerate([PAD, END, "say", *LETTERS])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token=PAD))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=PAD, eos_token=END, padding_side="left"
    )


def make_model(tokenizer: PreTrainedTokenizerFast) -> Qwen2ForCausalLM:
    """Two layers with random weights."""
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    return Qwen2ForCausalLM(config)


def make_dataset(copies: int = 50) -> Dataset:
    """Prompts, the letter that each asks for, and the dataset whose budget counts."""
    rows = [
        {
            "prompt": f"say {letter}",
            "letter": letter,
            "dataset": "vowels" if letter in "ae" else "others",
        }
        for letter in LETTERS
    ]
    return Dataset.from_list(rows * copies)


def main() -> None:
    """Train, and print what Toggle did at each step."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--output", default="trl-out", help="folder for checkpoints")
    args = parser.parse_args()

    torch.set_num_threads(1)  # for so small a model
    set_seed(0)
    tokenizer = make_tokenizer()
    # Budgets are those of the first four steps. By default they follow the run.
    reward = ToggleReward(
        has_letter, m=4, lambda_=0.5, percentile=50, warmup_steps=4, freeze="warmup"
    )
    trainer = GRPOTrainer(
        model=make_model(tokenizer),
        processing_class=tokenizer,
        train_dataset=make_dataset(),
        reward_funcs=reward,
        callbacks=[reward.callback()],
        args=GRPOConfig(
            output_dir=args.output,
            max_steps=args.steps,
            per_device_train_batch_size=32,
            num_generations=8,
            max_completion_length=24,
            learning_rate=0.01,
            lr_scheduler_type="constant",
            logging_steps=1,
            save_steps=args.steps,
            report_to="none",
            disable_tqdm=True,
            use_cpu=True,
        ),
    )
    trainer.remove_callback(PrinterCallback)  # a table follows
    trainer.train()

    print(f"{'step':>4}  {'phase':14} {'kept':>5} {'budgets':>11} {'reward':>6} {'tokens':>6}")
    for log in trainer.state.log_history:
        if "toggle/kept_ratio" not in log:
            continue
        phase = "length penalty" if log["toggle/length_penalty_phase"] else "normal"
        low, high = log["toggle/budget_min"], log["toggle/budget_max"]
        budgets = "none" if low is None else f"{low:g}-{high:g}"
        print(
            f"{log['step'] - 1:4}  {phase:14} {log['toggle/kept_ratio']:5.2f} {budgets:>11} "
            f"{log['reward']:6.2f} {log['completions/mean_length']:6.1f}"
        )
    print("budgets now:", {name: budget for (name,), budget in reward.toggle.budgets().items()})


if __name__ == "__main__":
    main()
