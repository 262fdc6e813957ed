//! Programs of others that are measured beside ours: Node and Python packages in `peers/`, installed when they are
//! missing.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde::Deserialize;

/// The folder of Python packages: one that is never committed.
const PACKAGES: &str = "node_modules/python";

/// The lines that a measurement of a peer prints.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Said {
    pub(crate) per_s: f64,
    pub(crate) cpu_us: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) bytes: f64,
}

/// Installs the packages of a folder of `peers/` when they are missing; says where they are, or why there are none.
pub(crate) fn installed(name: &str) -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(name);
    installed_in(&folder)?;
    Ok(folder)
}

/// Installs the packages that a folder's manifest names, when they are missing.
pub(crate) fn installed_in(folder: &Path) -> Result<(), String> {
    if !folder.join("package.json").is_file() {
        return Err("peers are measured from a checkout of the sources only".into());
    }
    if !folder.join("node_modules").is_dir() {
        let npm = |words: &[&str]| {
            let mut npm = Command::new("npm");
            npm.args(words).args([
                "--no-audit",
                "--no-fund",
                "--ignore-scripts",
                "--loglevel=error",
            ]);
            let done = npm.current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null()).status();
            done.is_ok_and(|status| status.success())
        };
        // Some registries leave out what is for other platforms, and then `ci` does not take the lock file.
        if !npm(&["ci"]) && !npm(&["install", "--no-save", "--no-package-lock"]) {
            let shown = folder.display();
            return Err(format!("npm cannot install {shown}; install Node 20 or later"));
        }
    }
    Ok(())
}

/// A script of such a folder that measures and prints one line of JSON.
pub(crate) struct Peers {
    folder: PathBuf,
    script: &'static str,
}

impl Peers {
    /// Ready to measure.
    pub(crate) fn ready(name: &str, script: &'static str) -> Result<Self, String> {
        Ok(Peers { folder: installed(name)?, script })
    }

    /// One measurement, in a process of its own.
    pub(crate) fn run(&self, args: &[&str]) -> Result<Said, String> {
        let out = Command::new("node")
            .arg(self.script)
            .args(args)
            .current_dir(&self.folder)
            .stderr(Stdio::piped())
            .output()
            .map_err(|error| format!("node does not start: {error}"))?;
        said(&out, args)
    }
}

/// The last line that is what we asked for.
fn said(out: &Output, args: &[&str]) -> Result<Said, String> {
    let text = String::from_utf8_lossy(&out.stdout);
    text.lines().rev().find_map(|line| serde_json::from_str(line).ok()).ok_or_else(|| {
        format!("{} said: {}", args.join(" "), String::from_utf8_lossy(&out.stderr).trim())
    })
}

/// Scripts of a folder of `peers/` that need Python packages.
pub(crate) struct Python {
    folder: PathBuf,
}

impl Python {
    /// Ready to measure: packages are installed into `node_modules/python` of the folder when they are missing.
    pub(crate) fn ready(name: &str) -> Result<Self, String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(name);
        if !folder.join("requirements.txt").is_file() {
            return Err("peers are measured from a checkout of the sources only".into());
        }
        let packages = folder.join(PACKAGES);
        if !packages.join("redis").is_dir() {
            let mut pip = Command::new("python3");
            pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
            pip.arg("--target").arg(&packages).args(["-r", "requirements.txt"]);
            let done = pip.current_dir(&folder).stdout(Stdio::null()).status();
            if !done.is_ok_and(|status| status.success()) {
                return Err(format!("pip failed in peers/{name}; install Python 3.11 or later"));
            }
        }
        Ok(Python { folder })
    }

    /// One measurement, in a process of its own.
    pub(crate) fn run(&self, script: &str, args: &[&str]) -> Result<Said, String> {
        let out = Command::new("python3")
            .arg(script)
            .args(args)
            .env("PYTHONPATH", self.folder.join(PACKAGES))
            // One thread, as for everybody else.
            .env("OMP_NUM_THREADS", "1")
            .env("OPENBLAS_NUM_THREADS", "1")
            .current_dir(&self.folder)
            .output()
            .map_err(|error| format!("python3 does not start: {error}"))?;
        said(&out, args)
    }
}
