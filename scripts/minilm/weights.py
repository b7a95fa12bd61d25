"""Read the published weights: a safetensors file is a length, a JSON header and raw numbers."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

LAYERS = 6
HEADS = 12
WIDTH = 384
HEAD_WIDTH = WIDTH // HEADS
LAYER_NORM_EPSILON = 1e-12
# The model was trained on texts up to this long; positions beyond are not shipped.
MAX_TOKENS = 256


class Weights:
    """Every tensor of the model under its published name."""

    def __init__(self, tensors: Mapping[str, Array]) -> None:
        self._tensors = tensors

    def __getitem__(self, name: str) -> Array:
        return self._tensors[name]

    def linear(self, name: str) -> tuple[Array, Array]:
        """The matrix (outputs by inputs) and bias of a fully connected step."""
        return self[f"{name}.weight"], self[f"{name}.bias"]

    def positions(self) -> Array:
        """What each position adds to its token; every text is of the first type, so that is added here too."""
        first_type: Array = self["embeddings.token_type_embeddings.weight"][0]
        return self["embeddings.position_embeddings.weight"][:MAX_TOKENS] + first_type


def read(path: Path) -> Weights:
    """All float32 tensors of a safetensors file."""
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    floats = {name: entry for name, entry in header.items() if entry.get("dtype") == "F32"}
    return Weights({name: _tensor(content, start, entry) for name, entry in floats.items()})


def _tensor(content: bytes, start: int, entry: dict[str, list[int]]) -> Array:
    begin, end = entry["data_offsets"]
    return np.frombuffer(content[start + begin : start + end], np.float32).reshape(entry["shape"])


def attention_names(layer: int) -> list[str]:
    """The three steps that read the same input: query, key and value."""
    return [f"encoder.layer.{layer}.attention.self.{part}" for part in ("query", "key", "value")]
