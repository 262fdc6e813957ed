//! Certificates for tests: an authority, and pairs that it signed, as files in a scratch directory.

use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

/// An authority and its files: `ca.pem`, and `NAME.pem` with `NAME.key` for each pair.
pub struct Certificates {
    dir: tempfile::TempDir,
    authority: CertifiedIssuer<'static, KeyPair>,
}

impl Certificates {
    /// An authority that nobody else trusts.
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let authority = CertifiedIssuer::self_signed(params, key).expect("signed");
        let made = Certificates { dir: tempfile::tempdir().expect("scratch"), authority };
        std::fs::write(made.path("ca.pem"), made.authority.pem()).expect("written");
        made
    }

    /// A file of theirs.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a new pair for this machine; gives certificate and key.
    pub fn pair(&self, name: &str) -> (PathBuf, PathBuf) {
        self.pair_for(name, &["localhost", "127.0.0.1"])
    }

    /// The same for these names and addresses.
    pub fn pair_for(&self, name: &str, hosts: &[&str]) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().expect("a key");
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        let mut params = CertificateParams::new(hosts).expect("names");
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.signed_by(&key, &self.authority).expect("signed");
        let files = (self.path(&format!("{name}.pem")), self.path(&format!("{name}.key")));
        std::fs::write(&files.0, certificate.pem()).expect("written");
        std::fs::write(&files.1, key.serialize_pem()).expect("written");
        files
    }
}

impl Default for Certificates {
    fn default() -> Self {
        Certificates::new()
    }
}
