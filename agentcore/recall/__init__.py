"""Recall: from a query to ranked memory."""
