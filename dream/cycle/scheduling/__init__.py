"""The scheduler: what is stored of each scope's dreams, the service that watches it, and answers for people."""
