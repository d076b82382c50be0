"""Deduction and induction: draw conclusions from what is known, each with its premises."""
