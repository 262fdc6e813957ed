//! The two servers, side by side: ours in a process of its own, and `redis-server`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server process that ends with the bench.
pub(crate) struct Peer {
    child: Child,
    pub(crate) port: u16,
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Child mode: `serve PORT [DIR]`, prints the port and how long opening took.
pub(crate) fn serve(args: &[String]) {
    let port: u16 = args[0].parse().unwrap();
    let dir = args.get(1).map(PathBuf::from);
    let started = Instant::now();
    let (engine, _) = worldkeep_engine::Engine::open(worldkeep_engine::Options {
        dir,
        ..worldkeep_engine::Options::default()
    })
    .unwrap();
    let opened = started.elapsed();
    let listener = engine.listen(([127, 0, 0, 1], port).into()).unwrap();
    println!("{} {}", listener.addr().port(), opened.as_micros());
    std::io::stdout().flush().unwrap();
    // Until the bench goes: its end of the pipe closes then.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

impl Peer {
    /// Our engine, in memory or on a directory; gives how long opening took.
    pub(crate) fn engine(dir: Option<&Path>) -> (Self, Duration) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["serve", "0"]).args(dir).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let mut words = line.split_whitespace().map(|word| word.parse::<u64>().unwrap());
        let port = words.next().unwrap() as u16;
        (Peer { child, port }, Duration::from_micros(words.next().unwrap()))
    }

    /// A real server with further arguments.
    pub(crate) fn redis(args: &[&str], dir: &Path) -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--save", "", "--logfile", "redis.log", "--dir"])
            .arg(dir)
            .args(args)
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is installed");
        let peer = Peer { child, port };
        let started = Instant::now();
        while ask(peer.port, &["PING"]).is_none_or(|reply| !reply.starts_with("+PONG")) {
            assert!(started.elapsed() < Duration::from_mins(2), "redis-server starts");
            std::thread::sleep(Duration::from_millis(2));
        }
        peer
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Processor time used so far, user and system.
    pub(crate) fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        Duration::from_millis(ticks * 10)
    }

    /// Resident memory in bytes.
    pub(crate) fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
    }

    /// Keeps the process on one core.
    pub(crate) fn pin(&self, core: usize) {
        pin(self.pid(), core);
    }
}

/// Keeps a process on one core.
pub(crate) fn pin(pid: u32, core: usize) {
    let done = Command::new("taskset")
        .args(["-acp", &core.to_string(), &pid.to_string()])
        .stdout(Stdio::null())
        .status();
    assert!(done.is_ok_and(|status| status.success()), "taskset is there");
}

/// One call over a connection of its own; the raw reply.
pub(crate) fn ask(port: u16, words: &[&str]) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let mut call = format!("*{}\r\n", words.len());
    for word in words {
        let _ =
            std::fmt::Write::write_fmt(&mut call, format_args!("${}\r\n{word}\r\n", word.len()));
    }
    stream.write_all(call.as_bytes()).ok()?;
    let mut reply = vec![0; 1 << 16];
    let n = stream.read(&mut reply).ok()?;
    Some(String::from_utf8_lossy(&reply[..n]).into_owned())
}

/// Sends many calls in one pipeline and waits for all replies.
pub(crate) fn pour(port: u16, calls: impl Iterator<Item = Vec<String>>) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut buf = Vec::new();
    let mut waiting = 0;
    let mut drain = |waiting: &mut usize| {
        let mut line = Vec::new();
        while *waiting > 0 {
            line.clear();
            reader.read_until(b'\n', &mut line).unwrap();
            assert!(line[0] == b':' || line[0] == b'+', "{}", String::from_utf8_lossy(&line));
            *waiting -= 1;
        }
    };
    for call in calls {
        write!(buf, "*{}\r\n", call.len()).unwrap();
        for word in &call {
            write!(buf, "${}\r\n{word}\r\n", word.len()).unwrap();
        }
        waiting += 1;
        if waiting == 500 {
            stream.write_all(&buf).unwrap();
            buf.clear();
            drain(&mut waiting);
        }
    }
    stream.write_all(&buf).unwrap();
    drain(&mut waiting);
}

pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// One line of the table; `better` says which way is good.
pub(crate) fn line(name: &str, unit: &str, ours: f64, theirs: f64, ratio: f64, bar: &str) {
    println!("{name:34} {ours:>9.3} {unit:<2} {theirs:>9.3} {unit:<2} {ratio:>7.2}  {bar}");
}
