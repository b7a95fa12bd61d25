"""What memory is worth on long public histories: whether the answer is in the context, and what is lost."""
