"""The learning rate, and the steps of snapshots."""

from model.training.settings import TrainingSettings


def learning_rate(settings: TrainingSettings, d_model: int, step: int) -> float:
    """The learning rate of a step, from 1 on.

    paper: d_model^-0.5 · min(step^-0.5, step · warmup^-1.5), equation 3 of section 5.3.
    linear: a warm-up to the peak, a plateau, and a decay to zero over the last `decay_fraction`.
    """
    warmup = settings.warmup_steps
    if settings.schedule == "paper":
        scale = min(step**-0.5, step * warmup**-1.5)
        return float(settings.learning_rate * d_model**-0.5 * scale)
    decay = max(1.0, settings.decay_fraction * settings.max_steps)
    remaining = (settings.max_steps - step + 1) / decay
    return float(settings.learning_rate * max(0.0, min(1.0, step / warmup, remaining)))


def snapshot_steps(count: int, max_steps: int) -> list[int]:
    """Log-spaced steps from 0 (untrained) to the last, at most `count` of them."""
    if count < 2:
        return [0][:count]
    ratio = max_steps ** (1 / (count - 1))
    return sorted({0, *(round(ratio**power) for power in range(1, count))})
