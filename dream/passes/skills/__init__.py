"""The passes on skills, and what they share: answers, coverage, names and lines of skills."""
