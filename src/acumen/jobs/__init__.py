"""Jobs: carry facts to the steps they cause, durably."""
