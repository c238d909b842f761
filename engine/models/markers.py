from django.db import models


class WriterMarker(models.Model):
    """Where a writer is: moved in each of its transactions, so that it can see which of them was committed."""

    writer = models.CharField(max_length=40, primary_key=True)
    batch = models.BigIntegerField()
    moved = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.writer} at {self.batch}"
