"""Generation runs over stored conversations: regular, rerun, manual; memory versions."""
