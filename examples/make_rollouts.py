"""Make the sample rollouts that `make demo` replays, in the form of open-instruct's traces.

The rollouts are made up, from a seed: the same bytes on every run. Four datasets, 16 prompts a
step, 8 responses to each. As training goes on the model solves more problems, and its responses
grow longer, which is what a length penalty is for. The ids of the tokens mean nothing.

    python examples/make_rollouts.py [FOLDER]
"""

import gzip
import json
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import NormalDist

SEED = 2602
STEPS = 40
STEPS_PER_SHARD = 20
PROMPTS = 16
SAMPLES = 8
MAX_TOKENS = 3000


@dataclass(frozen=True)
class Dataset:
    """A source of prompts, and how the model answers them."""

    name: str | list[str]
    prompts: int
    """Prompts a step."""
    tokens: float
    """Median length of a response at the first step."""
    growth: float
    """Factor on the length from the first step to the last."""
    solved: tuple[float, float]
    """Share of right responses at the first and at the last step."""


DATASETS = [
    Dataset("math", 6, 420, 1.9, (0.55, 0.80)),
    Dataset(["math", "competition"], 4, 1000, 1.5, (0.25, 0.50)),
    Dataset("code", 4, 300, 1.4, (0.45, 0.75)),
    Dataset("instructions", 2, 130, 2.6, (0.70, 0.90)),
]


class Source:
    """Random numbers that do not change from one version of Python to the next."""

    def __init__(self, seed: int) -> None:
        """Start at `seed`."""
        self.uniform = Random(seed).random  # Only this method is guaranteed to stay as it is.

    def normal(self) -> float:
        """Draw from the standard normal distribution."""
        return NormalDist().inv_cdf(self.uniform())


def logit(share: float) -> float:
    """Log odds of a share."""
    return math.log(share / (1 - share))


def rollouts(source: Source, step: int) -> Iterator[dict[str, object]]:
    """Make one step of the run."""
    progress = step / (STEPS - 1)
    prompts = [dataset for dataset in DATASETS for _ in range(dataset.prompts)]
    for prompt, dataset in enumerate(prompts):
        first, last = map(logit, dataset.solved)
        ability = first + (last - first) * progress + 1.8 * source.normal()
        solved = 1 / (1 + math.exp(-ability))
        # Hard problems take longer, and so do attempts that fail.
        typical = math.log(dataset.tokens) + math.log(dataset.growth) * progress
        typical += 0.25 * source.normal() - 0.08 * ability
        rewards, lengths = [], []
        for _ in range(SAMPLES):
            right = source.uniform() < solved
            tokens = round(math.exp(typical + 0.4 * source.normal() + (0 if right else 0.3)))
            lengths.append(min(max(tokens, 5), MAX_TOKENS))
            rewards.append(float(right and tokens < MAX_TOKENS))
        mean = sum(rewards) / SAMPLES
        for k, (reward, length) in enumerate(zip(rewards, lengths, strict=True)):
            logprobs = [-0.5] * length
            if source.uniform() < 0.01:
                logprobs[0] = math.nan  # As it happens in real traces.
            yield {
                "step": step,
                "sample_idx": prompt * SAMPLES + k,
                "prompt_idx": prompt,
                "prompt_tokens": [1, 2, 3],
                "response_tokens": [7] * length,
                "reward": reward,
                "advantage": reward - mean,
                "finish_reason": "length" if length == MAX_TOKENS else "stop",
                "dataset": dataset.name,
                "ground_truth": "42",
                "request_info": {},
                "logprobs": logprobs,
            }


def main(folder: Path) -> None:
    """Write the shards into `folder`."""
    source = Source(SEED)
    for shard, start in enumerate(range(0, STEPS, STEPS_PER_SHARD)):
        path = folder / f"rollouts_{shard:06d}.jsonl.gz"
        # No name and no time in the header: they would differ from run to run.
        with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as lines:
            for step in range(start, start + STEPS_PER_SHARD):
                for rollout in rollouts(source, step):
                    lines.write(json.dumps(rollout).encode() + b"\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
