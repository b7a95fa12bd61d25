"""Failures with known causes, to measure grouping by: written for this project, seen by no public set."""
