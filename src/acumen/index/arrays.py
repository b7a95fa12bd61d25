"""The array types of the index."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]
Ints = NDArray[np.int32]
RowIds = NDArray[np.intp]
