"""Review: the owner of the data sees which memories deserve a look, and acts."""
