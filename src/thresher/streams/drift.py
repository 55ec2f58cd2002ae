"""What the columns of later files differ in from those of the first: each difference is told once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from thresher.messages import join_some, warn


class Drift:
    """The columns of the first file.

    Parameters
    ----------
    file : str
        Its name.
    names : iterable of str
        All of its columns.
    contents : mapping of str to str
        What those hold that are read, in words; "" where they have no value.
    """

    def __init__(self, file: str, names: Iterable[str], contents: Mapping[str, str]) -> None:
        self._file, self._names = file, set(names)
        self.contents, self._told = dict(contents), set[tuple[str, str]]()

    def tell(self, file: str, names: Iterable[str], contents: Mapping[str, str]) -> None:
        """Warn of columns that are new, and of those that hold something else."""
        new = [name for name in names if name not in self._names]
        if new:
            self._names.update(new)
            warn(f"{file}: columns that {self._file} does not have are not read: {join_some(new)}.", UserWarning)
        for name, here in contents.items():
            before = self.contents.setdefault(name, here)
            if not before:
                self.contents[name] = here
            elif here and here != before and (name, here) not in self._told:
                self._told.add((name, here))
                warn(
                    f"{file}: column {name!r} holds {here} here, and {before} in {self._file}. Values that are written "
                    "alike, such as 3, 3.0 and '3', are the same.",
                    UserWarning,
                )
