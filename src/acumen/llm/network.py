"""What the networks that run on this machine have in common: how they are loaded, and which texts run together."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from acumen.errors import ModelMissing

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

# Texts of like length run together up to this many tokens, padding included: enough to share the cost of a run,
# few enough that what flows between layers stays in the processor's cache and memory stays small.
TOKENS_PER_RUN = 256
# A run has a fixed cost equal to this many tokens: where padding would cost more than that, texts run apart.
RUN_COSTS = 4


def load(path: Path, name: str) -> "InferenceSession":
    """The network in the file, in a fraction of a second; `name` is what it is called where it cannot be had.

    Raises ModelMissing.
    """
    if not path.is_file():
        raise ModelMissing(f"The {name} is not installed: {path.name} missing.")
    try:
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read once, by the library's initialization
        import onnxruntime  # noqa: PLC0415 - 40 MB that a server without embeddings never pays
    except ImportError as error:
        raise ModelMissing(f"The {name} cannot run: {error}.") from error
    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    # Requests are served side by side; a run that spreads over all cores would slow its neighbours.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises its own kinds, without a common base
        raise ModelMissing(f"The {name} is damaged: its file cannot be read.") from error


def runs(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Positions of the texts to run together, shortest first."""
    run: list[int] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        length = lengths[position]
        padding = (length - lengths[run[-1]]) * len(run) if run else 0
        if run and (padding > RUN_COSTS or length * (len(run) + 1) > TOKENS_PER_RUN):
            yield run
            run = []
        run.append(position)
    if run:
        yield run
