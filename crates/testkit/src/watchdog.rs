//! One small shell per test process that outlives it. It knows the pids and scratch directories of all
//! fixtures, and when the test process is gone (end, panic, kill -9) its pipe closes, and the shell ends
//! those servers by their pids and removes the directories. Nothing is left running, whatever happens.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::LazyLock;

use parking_lot::Mutex;

// A line is `+ pid`, `- pid` or `d directory`; the end of the pipe is the end of the test process.
const SCRIPT: &str = r#"
trap '' INT TERM HUP
pids=""
dirs=""
while read -r what name; do
  case $what in
    +) pids="$pids $name" ;;
    -) left=""; for p in $pids; do [ "$p" = "$name" ] || left="$left $p"; done; pids=$left ;;
    d) dirs="$dirs $name" ;;
  esac
done
for p in $pids; do kill -9 "$p" 2>/dev/null; done
for d in $dirs; do case $d in */worldkeep-test-*) rm -rf "$d" ;; esac; done
"#;

// It is meant to outlive us, so nobody waits for it.
#[expect(clippy::zombie_processes, reason = "it ends after us, when our pipe closes")]
static PIPE: LazyLock<Mutex<ChildStdin>> = LazyLock::new(|| {
    let mut shell = Command::new("sh")
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .expect("a POSIX shell is needed to watch over test servers");
    Mutex::new(shell.stdin.take().expect("its stdin was asked for"))
});

fn tell(line: &str) {
    PIPE.lock().write_all(line.as_bytes()).expect("the watchdog reads until we are gone");
}

/// From now on this process dies with us.
pub(crate) fn adopt(pid: u32) {
    tell(&format!("+ {pid}\n"));
}

/// It is gone and reaped: its pid may soon be somebody else's.
pub(crate) fn release(pid: u32) {
    tell(&format!("- {pid}\n"));
}

/// A scratch directory that goes with us, also when nobody drops it.
pub(crate) fn scratch() -> tempfile::TempDir {
    let dir = tempfile::Builder::new()
        .prefix("worldkeep-test-")
        .tempdir()
        .expect("a scratch directory can be made");
    remove_later(dir.path());
    dir
}

fn remove_later(path: &Path) {
    // The shell splits at blanks: such a directory is left to `TempDir` alone.
    let text = path.to_string_lossy();
    if !text.contains(char::is_whitespace) {
        tell(&format!("d {text}\n"));
    }
}
