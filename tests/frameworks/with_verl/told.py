"""What Toggle does to a run, told group by group, in plain Python."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from verl_run import answers, as_answered, dataset_of


class Told:
    """The rule, with each correct length kept."""

    def __init__(self, m: int, lambda_: float, percentile: float, penalty: str = "zero") -> None:
        self.m, self.lambda_, self.percentile, self.penalty = m, lambda_, percentile, penalty
        self.lengths: dict[str, list[int]] = {}

    def shaped(self, step: int, prompt: int) -> list[list[list[float]]]:
        """The rewards of a group at a step, by what was known before it."""
        rewards = as_answered(prompt)
        known = self.lengths.get(dataset_of(prompt))
        if step // self.m % 2 == 0 or not known:
            return rewards
        correct = self.correct(prompt)
        if sum(correct) / len(correct) < self.lambda_:
            return rewards
        budget = np.percentile(known, self.percentile)
        result = []
        for session, given in zip(answers(prompt), rewards, strict=True):
            total = sum(given[-1])
            over = sum(trajectory.tokens for trajectory in session) > budget
            masked = over and (self.penalty == "zero" or total > 0)
            result.append([[0.0 for _ in row] for row in given] if masked else given)
        return result

    @staticmethod
    def correct(prompt: int) -> list[bool]:
        return [session[-1].correct for session in answers(prompt)]

    def observe(self, prompts: Iterable[int]) -> None:
        """The groups that have left the queue in a step."""
        for prompt in prompts:
            for session, correct in zip(answers(prompt), self.correct(prompt), strict=True):
                if correct:
                    lengths = self.lengths.setdefault(dataset_of(prompt), [])
                    lengths.append(sum(trajectory.tokens for trajectory in session))

    def counts(self) -> dict[tuple[str], int]:
        return {(name,): len(lengths) for name, lengths in self.lengths.items()}

    def is_filtered(self, step: int, prompt: int, metric: str) -> bool:
        """Whether verl's filter drops the group."""
        shaped = self.shaped(step, prompt)
        if metric == "reward" or shaped != as_answered(prompt):
            return len({sum(session[-1]) for session in shaped}) == 1
        return len({*self.correct(prompt)}) == 1
