"""What docs/testing.md offers to Go and Java, under ``go test`` and JUnit as Debian has them."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.e2e.test_run import LANGUAGES, run
from tests.waiting import PATIENCE_SECONDS

_JARS = [
    *(f"junit-jupiter-{part}" for part in ("api", "engine")),
    *(f"junit-platform-{part}" for part in ("console", "launcher", "engine", "commons", "reporting")),
    *("opentest4j", "opentest4j-reporting-events", "opentest4j-reporting-schema", "apiguardian-api", "picocli"),
]
_CLASSES = ":".join(f"/usr/share/java/{name}.jar" for name in _JARS)


def test_the_recipe_for_go_passes_and_fails_without_its_application(tmp_path: Path) -> None:
    for name in ("go.mod", "reboot_test.go"):
        (tmp_path / name).write_text((LANGUAGES / "go" / name).read_text())
    cache = {"GOCACHE": str(tmp_path / "cache"), "GOFLAGS": "-mod=mod"}
    passed = run("--", "go", "test", "./...", cwd=tmp_path, **cache)
    assert passed.returncode == 0, passed.stdout + passed.stderr

    recipe = (tmp_path / "reboot_test.go").read_text()
    (tmp_path / "reboot_test.go").write_text(recipe.replace("\tmyApplication(t)\n", "\t_ = myApplication\n"))
    failed = run("--", "go", "test", "./...", cwd=tmp_path, **cache)
    assert failed.returncode == 1
    assert "not approved before its deadline" in failed.stdout
    assert "web-0 never asked" in failed.stderr


def test_the_recipe_for_junit_passes_with_javas_own_client(tmp_path: Path) -> None:
    source = LANGUAGES / "junit" / "RebootTest.java"
    subprocess.run(["javac", "-cp", _CLASSES, "-d", tmp_path, source], check=True, timeout=PATIENCE_SECONDS)
    launcher = "org.junit.platform.console.ConsoleLauncher"
    done = run(
        *("--", "java", "-cp", f"{_CLASSES}:{tmp_path}", launcher),
        *("--class-path", str(tmp_path), "--select-class", "RebootTest"),
        cwd=tmp_path,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 tests successful" in done.stdout
