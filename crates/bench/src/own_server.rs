//! The `worldkeep` program as a server for the time of a measurement: a process of its own on loopback, on a free port,
//! without limits, in a scratch directory. It ends with it. The program is the one of this checkout, built like this one.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// A server that ends when this is dropped.
pub(crate) struct OwnServer {
    /// The address where it listens.
    pub(crate) at: SocketAddr,
    child: Child,
    _data: tempfile::TempDir,
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Limits that a measurement switches off, by name.
const OFF: &[&str] = &[
    "LIMITS_CONNECTIONS",
    "LIMITS_CONNECTIONS_PER_ADDRESS",
    "LIMITS_ANONYMOUS_PER_SECOND",
    "LIMITS_REQUESTS_PER_SECOND",
    "LIMITS_SOCKETS_PER_ACCOUNT",
    "LIMITS_SOCKETS_PER_ADDRESS",
    "ROOMS_SOCKETS_PER_ROOM",
    "ROOMS_SOCKETS_PER_MINUTE",
    "ROOMS_SOCKETS_PER_ADDRESS",
    "ROOMS_MESSAGES_PER_SECOND",
    "ROOMS_RENAMES_PER_MINUTE",
    "ROOMS_CREATED_PER_HOUR",
    "GALAXY_SOCKETS_PER_ADDRESS",
    "GALAXY_SOCKETS_PER_PLAYER",
    "GALAXY_MESSAGES_PER_SECOND",
    "GALAXY_LOGINS_PER_MINUTE",
];

/// The program: `WORLDKEEP_BIN`, or what cargo builds in the folder of this program. It is built once per run, so
/// that nothing old is measured.
fn program() -> io::Result<&'static Path> {
    static PROGRAM: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| match std::env::var_os("WORLDKEEP_BIN") {
        Some(named) => Ok(named.into()),
        None => built().map_err(|error| format!("cannot build the worldkeep program: {error}")),
    });
    program.as_deref().map_err(|why| io::Error::other(why.as_str()))
}

/// Asks cargo for the program, with the profile and in the target directory of this one.
fn built() -> io::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let target = own.parent().and_then(Path::parent);
    let target =
        target.ok_or_else(|| io::Error::other("this program is in no target directory"))?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--locked", "-p", "worldkeep-cli", "--bin", "worldkeep"]);
    cargo.args((!cfg!(debug_assertions)).then_some("--release")).arg("--target-dir").arg(target);
    let done = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null()).status()?;
    if !done.success() {
        return Err(io::Error::other("cargo failed; WORLDKEEP_BIN can name a program instead"));
    }
    Ok(own.with_file_name("worldkeep"))
}

/// A port nobody listens on now.
pub(crate) fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

impl OwnServer {
    /// Starts it with one module, on an embedded store in a scratch directory or on a Redis.
    pub(crate) async fn start(module: &str, redis: Option<&str>) -> io::Result<OwnServer> {
        OwnServer::start_in(tempfile::tempdir()?, module, redis, &[]).await
    }

    /// The same in a directory where something is already, with more settings.
    pub(crate) async fn start_in(
        data: tempfile::TempDir,
        module: &str,
        redis: Option<&str>,
        settings: &[(&str, &str)],
    ) -> io::Result<OwnServer> {
        let port = free_port()?;
        let mut command = Command::new(program()?);
        // The server takes every WORLDKEEP_… for a setting.
        command.env_remove("WORLDKEEP_BIN");
        command.args(["serve", "--modules", module, "--no-demo", "--quiet", "--log", "error"]);
        command.arg("--http").arg(format!("127.0.0.1:{port}"));
        command.arg("--data").arg(place(data.path()));
        if let Some(url) = redis {
            command.arg("--redis").arg(url);
        }
        for name in OFF {
            command.env(format!("WORLDKEEP_{name}"), "0");
        }
        for (name, value) in settings {
            command.env(format!("WORLDKEEP_{name}"), value);
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let server = OwnServer { at, child, _data: data };
        for _ in 0..200 {
            if tokio::net::TcpStream::connect(at).await.is_ok() {
                return Ok(server);
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        Err(io::Error::other("the server did not start"))
    }

    /// The process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it in good order, by a signal; how long that took.
    pub(crate) async fn stopped(mut self) -> io::Result<Duration> {
        let pid = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("the server has no process"))?;
        let asked = std::time::Instant::now();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        while self.child.try_wait()?.is_none() {
            if asked.elapsed() > Duration::from_mins(1) {
                return Err(io::Error::other("the server did not stop within a minute"));
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(asked.elapsed())
    }

    /// One request; the body of the answer.
    pub(crate) async fn ask(&self, method: &str, path: &str) -> io::Result<String> {
        request(self.at, method, path, "").await
    }
}

/// Resident memory of a process.
pub(crate) fn memory(process: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// The folder of a server's files in such a directory, on whatever store.
pub(crate) fn place(data: &Path) -> PathBuf {
    data.join("worldkeep")
}

/// One request on a connection of its own; the body of an answer that says it was done.
pub(crate) async fn request(
    at: SocketAddr,
    method: &str,
    path: &str,
    json: &str,
) -> io::Result<String> {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::TcpStream::connect(at).await?;
    let ask = format!(
        "{method} {path} HTTP/1.1\r\nHost: {at}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{json}",
        json.len()
    );
    stream.write_all(ask.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    let text = String::from_utf8_lossy(&answer);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let done = head.split(' ').nth(1).is_some_and(|status| status.starts_with('2'));
    if done {
        Ok(body.to_owned())
    } else {
        Err(io::Error::other(format!("{method} {path}: {text}")))
    }
}
