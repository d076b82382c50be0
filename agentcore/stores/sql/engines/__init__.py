"""The databases that `SqlStorage` runs on: whatever is of one of them alone, behind `Database`."""
