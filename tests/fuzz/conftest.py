"""Says at the end how many inputs were tried."""

from tests.fuzz.inputs import TRIED


def pytest_terminal_summary(terminalreporter) -> None:
    if TRIED:
        terminalreporter.section("fuzz inputs tried")
        for name, count in TRIED.items():
            terminalreporter.write_line(f"{count:>8,}  {name}")
        terminalreporter.write_line(f"{sum(TRIED.values()):>8,}  in all")
