//! Runs the real binary, in a scratch directory and with a clean environment. Nothing outlives its test.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::SocketAddr;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A command without any of our variables, in a scratch directory.
pub(crate) fn command(dir: &TempDir, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_worldkeep"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("WORLDKEEP_")) {
        command.env_remove(name);
    }
    command.args(args).current_dir(dir.path()).env("HOME", dir.path()).env_remove("XDG_DATA_HOME");
    command
}

/// What a start or a verb may take: far more than it needs, and less than a test may.
const PATIENCE: Duration = Duration::from_mins(1);

/// Runs to the end, which must come: one that hangs is ended and named, with what it said so far.
pub(crate) fn output(command: &mut Command) -> Output {
    let told = format!("{command:?}");
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.unwrap();
    let id = child.id();
    let (end, ended) = mpsc::channel();
    std::thread::spawn(move || end.send(child.wait_with_output()));
    if let Ok(output) = ended.recv_timeout(PATIENCE) {
        return output.unwrap();
    }
    let _ = Command::new("kill").args(["-KILL", &id.to_string()]).status();
    panic!("{told} did not end within {PATIENCE:?}: {:?}", ended.recv());
}

/// Runs to the end.
pub(crate) fn run(args: &[&str]) -> Output {
    let dir = tempfile::tempdir().unwrap();
    output(&mut command(&dir, args))
}

/// A store in this directory that no server uses, empty: what `--data` wants.
pub(crate) fn data(dir: &TempDir) -> String {
    let data = dir.path().join("data");
    drop(link::Embedded::open(&data).unwrap());
    data.display().to_string()
}

/// Exit code, stdout, stderr.
pub(crate) fn told(output: &Output) -> (i32, String, String) {
    (
        output.status.code().unwrap_or(-1),
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

/// A server that runs, on a free port.
pub(crate) struct Served {
    pub(crate) child: Child,
    pub(crate) lines: Vec<String>,
    pub(crate) addr: SocketAddr,
    pub(crate) started: Instant,
    pub(crate) dir: TempDir,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `serve` with a free port and these arguments; by default the engine in memory.
pub(crate) fn serve(args: &[&str]) -> Served {
    serve_in(tempfile::tempdir().unwrap(), args)
}

/// The same in this directory.
pub(crate) fn serve_in(dir: TempDir, args: &[&str]) -> Served {
    let mut all = vec!["serve"];
    if !args.contains(&"--http") {
        all.extend(["--http", "127.0.0.1:0"]);
    }
    if !["--redis", "--redis-file", "--data"].iter().any(|flag| args.contains(flag)) {
        all.extend(["--data", "memory"]);
    }
    all.extend(args);
    start(dir, &all)
}

/// Exactly this command line.
pub(crate) fn serve_raw(args: &[&str]) -> Served {
    start(tempfile::tempdir().unwrap(), args)
}

/// The same with these variables.
pub(crate) fn serve_env(args: &[&str], env: &[(&str, &str)]) -> Served {
    start_with(tempfile::tempdir().unwrap(), args, env)
}

fn start(dir: TempDir, all: &[&str]) -> Served {
    start_with(dir, all, &[])
}

fn start_with(dir: TempDir, all: &[&str], env: &[(&str, &str)]) -> Served {
    let started = Instant::now();
    let mut command = command(&dir, all);
    command.envs(env.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let lines = first_lines(&mut child);
    let address = |word: &str, scheme: &str| {
        let line = lines.iter().find(|line| line.starts_with(word))?;
        let rest = line.split(scheme).nth(1)?;
        rest.split(['/', ' ']).next()?.parse().ok()
    };
    let addr = address("Dashboard", "://").or_else(|| address("RESP", "://")).unwrap();
    Served { child, lines, addr, started, dir }
}

/// What it prints until it serves.
fn first_lines(child: &mut Child) -> Vec<String> {
    let out = BufReader::new(child.stdout.take().unwrap());
    let (say, said) = mpsc::channel();
    std::thread::spawn(move || {
        for line in out.lines() {
            let line = line.unwrap();
            let last = line.starts_with("Stop");
            if say.send(line).is_err() || last {
                break;
            }
        }
    });
    let mut lines = Vec::new();
    while !lines.last().is_some_and(|line: &String| line.starts_with("Stop")) {
        match said.recv_timeout(PATIENCE) {
            Ok(line) => lines.push(line.trim_end().to_owned()),
            Err(over) => {
                let _ = child.kill();
                let mut why = String::new();
                child.stderr.take().unwrap().read_to_string(&mut why).unwrap();
                panic!("it did not start ({over}): {lines:?} {why}");
            }
        }
    }
    lines
}

impl Served {
    /// `http://address`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// A GET by hand: status and body.
    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        get_at(self.addr, path)
    }

    /// Asks until the answer is as wanted, which must come.
    pub(crate) fn until(&self, path: &str, wanted: impl Fn(u16, &str) -> bool) -> String {
        let started = Instant::now();
        loop {
            let (status, body) = self.get(path);
            if wanted(status, &body) {
                return body;
            }
            assert!(started.elapsed() < PATIENCE, "{path} still says {status} {body}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends a signal by name.
    pub(crate) fn signal(&self, name: &str) {
        let sent =
            Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits for the end: exit code, time it took, stderr.
    pub(crate) fn ended(&mut self, within: Duration) -> (i32, Duration, String) {
        let started = Instant::now();
        let code = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status.code().unwrap_or(-1);
            }
            assert!(started.elapsed() < within, "it did not end within {within:?}");
            std::thread::sleep(Duration::from_millis(10));
        };
        let mut log = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        (code, started.elapsed(), log)
    }
}

/// A GET by hand at any address: status and body.
pub(crate) fn get_at(addr: SocketAddr, path: &str) -> (u16, String) {
    let mut stream = std::net::TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    (status, answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
}
