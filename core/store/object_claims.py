"""Claims (`core.execution.claims`) in an object store."""

from dataclasses import dataclass

from shuffleproof.core.store.remote import Remote

FOLDER = "claims"


@dataclass(frozen=True)
class ObjectClaims:
    """Claims as objects; who lives writes a new count of beats.

    Between looking at an object and removing it another worker may have been at it: then both
    make the unit, which is the same.

    Attributes:
        remote: the object store.
    """

    remote: Remote

    def made(self, name: str, text: str) -> bool:
        """Write an object that nobody else can have written."""
        return self.remote.create(f"{FOLDER}/{name}", f"{text}\n0".encode())

    def names(self) -> list[str]:
        """The names of its objects."""
        return self.remote.names(FOLDER)

    def seen(self, name: str) -> tuple[str, str] | None:
        """What it says, with the count of beats."""
        content = self.remote.read(f"{FOLDER}/{name}")
        if content is None:
            return None
        text = content.decode(errors="replace")
        return text, text.partition("\n")[0]

    def buried(self, name: str, old: object) -> bool:
        """Remove it while it still says the same."""
        claim = self.seen(name)
        if claim and claim[0] != old:
            return False
        self.remote.remove(f"{FOLDER}/{name}")
        return True

    def touch(self, name: str, own: str) -> None:
        """Write it anew while it is the owner's."""
        claim = self.seen(name)
        if claim and claim[1] == own:
            beats = int(str(claim[0]).rpartition("\n")[2]) + 1
            self.remote.write(f"{FOLDER}/{name}", f"{own}\n{beats}".encode())

    def given_back(self, name: str, own: str) -> None:
        """Remove it where it is the owner's."""
        claim = self.seen(name)
        if claim and claim[1] == own:
            self.remote.remove(f"{FOLDER}/{name}")
