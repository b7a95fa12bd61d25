"""Failures, recoveries and successes of tool calls become proposals."""
