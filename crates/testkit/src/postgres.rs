//! A real PostgreSQL of one's own: a new cluster in a scratch directory on a free loopback port, run as an ordinary user
//! because it refuses root. Tests of one process share it, each with a database of its own; it never outlives them.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::process::Signal;

use crate::server::{free_port, on_path, signal};
use crate::stores::{On, wanted};
use crate::watchdog;

const USER: &str = "worldkeep";
const START: Duration = Duration::from_secs(30);
/// `nobody`, of whom every Debian has one.
const NOBODY: u32 = 65_534;

/// A running server.
pub struct Postgres {
    child: Child,
    dir: tempfile::TempDir,
    bin: PathBuf,
    port: u16,
    databases: AtomicU32,
}

/// An empty database, until it is dropped.
pub struct LentDatabase {
    _server: Arc<Postgres>,
    url: String,
}

impl LentDatabase {
    /// `postgres://…`.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Postgres {
    /// Whether tests are to run on it: where real stores are wanted, so is a real database.
    pub fn is_wanted() -> bool {
        wanted().iter().any(|on| matches!(on, On::Redis | On::Valkey))
    }

    /// A database of one's own on the server of this test process.
    pub fn lend() -> LentDatabase {
        static SHARED: LazyLock<Mutex<Weak<Postgres>>> = LazyLock::new(Mutex::default);
        let server = {
            let mut shared = SHARED.lock();
            shared.upgrade().unwrap_or_else(|| {
                let server = Arc::new(Postgres::start());
                *shared = Arc::downgrade(&server);
                server
            })
        };
        let name = format!("test{}", server.databases.fetch_add(1, Ordering::Relaxed));
        let port = server.port.to_string();
        let words = ["-h", "127.0.0.1", "-p", &port, "-U", USER, &name];
        finish(Command::new(server.bin.join("createdb")).args(words));
        let url = format!("postgres://{USER}@127.0.0.1:{port}/{name}?sslmode=disable");
        LentDatabase { _server: server, url }
    }

    fn start() -> Postgres {
        let bin = find().unwrap_or_else(|sentence| panic!("{sentence}"));
        let dir = watchdog::scratch();
        let data = dir.path().join("data");
        if is_root() {
            let owner = Some(NOBODY);
            std::os::unix::fs::chown(dir.path(), owner, owner).expect("root may give it away");
        }
        finish(
            ordinary(&bin.join("initdb"), dir.path())
                .args(["--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C", "-U", USER])
                .arg("-D")
                .arg(&data),
        );
        // Somebody may take the port before we do.
        for _ in 0..5 {
            let port = free_port();
            if let Some(child) = launch(&bin, dir.path(), port) {
                return Postgres { child, dir, bin, port, databases: AtomicU32::new(0) };
            }
        }
        let log = std::fs::read_to_string(dir.path().join("log")).unwrap_or_default();
        panic!("postgres did not start: {log}");
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Without waiting for those who are still connected.
        signal(self.child.id(), Signal::QUIT);
        let _ = self.child.wait();
        watchdog::release(self.child.id());
        let _ = &self.dir;
    }
}

fn launch(bin: &Path, dir: &Path, port: u16) -> Option<Child> {
    let out = std::fs::File::create(dir.join("log")).expect("the scratch directory can be written");
    let mut child = ordinary(&bin.join("postgres"), dir)
        .args(["-F", "-h", "127.0.0.1", "-k", "", "-p", &port.to_string()])
        .args(["-c", "max_connections=50", "-c", "shared_buffers=16MB"])
        .arg("-D")
        .arg(dir.join("data"))
        .stdout(out.try_clone().expect("a file handle can be shared"))
        .stderr(out)
        .spawn()
        .expect("postgres can be started");
    watchdog::adopt(child.id());
    let give_up = Instant::now() + START;
    // The server's own file says so: on the port, another test's server could answer that took it first.
    let status = dir.join("data/postmaster.pid");
    let is_ready = |text: String| text.lines().any(|line| line.trim_end() == "ready");
    while !std::fs::read_to_string(&status).is_ok_and(is_ready) {
        if !matches!(child.try_wait(), Ok(None)) || Instant::now() > give_up {
            signal(child.id(), Signal::KILL);
            let _ = child.wait();
            watchdog::release(child.id());
            return None;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Some(child)
}

/// The directory of its programs, or a sentence that says how to install them.
fn find() -> Result<PathBuf, String> {
    // The program on PATH may be a link to one of them; the others are where it leads.
    let real = |file: PathBuf| Some(file.canonicalize().ok()?.parent()?.to_owned());
    let on_path = on_path("initdb").and_then(real).filter(|dir| dir.join("createdb").is_file());
    let debian = || {
        let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
        let mut dirs: Vec<_> =
            versions.filter_map(|dir| Some(dir.ok()?.path().join("bin"))).collect();
        dirs.sort();
        dirs.into_iter().rfind(|dir| dir.join("initdb").is_file())
    };
    on_path.or_else(debian).ok_or_else(|| {
        "PostgreSQL was not found: run `apt-get install -y postgresql`, or leave `redis` and \
         `valkey` out of WORLDKEEP_TEST_STORES"
            .to_owned()
    })
}

fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

fn ordinary(program: &Path, dir: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(dir).stdin(Stdio::null());
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

fn finish(command: &mut Command) {
    let output = command.output().expect("a program of PostgreSQL can be started");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
