//! Certificates of the listeners. Certificate, key and the authority of clients are files in PEM. They are looked at again
//! every two seconds. A new pair that is good is used for the next handshake; a bad one is logged, and the old one stays.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::RwLock;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

use crate::settings::{Name, Settings, names};

/// How often the files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// The files of a listener. Errors name the settings that name them.
#[derive(Debug, Clone)]
struct Files {
    certificate: (Name, PathBuf),
    key: (Name, PathBuf),
    /// The authority that must have signed the certificate of a client.
    clients: Option<(Name, PathBuf)>,
    /// Protocols over TLS, as ALPN calls them.
    protocols: &'static [&'static [u8]],
}

/// The texts of the files.
#[derive(PartialEq, Eq)]
struct Texts {
    certificate: Vec<u8>,
    key: Vec<u8>,
    clients: Option<Vec<u8>>,
}

/// The certificate that a listener shows, as the files have it now.
pub struct Identity {
    files: Files,
    config: RwLock<Arc<ServerConfig>>,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").field("files", &self.files).finish_non_exhaustive()
    }
}

impl Identity {
    /// For HTTP, where settings name one. The error is a sentence that names the setting.
    pub fn http(settings: &Settings) -> Result<Option<Arc<Self>>, String> {
        let server = &settings.server;
        let pair = [(names::tls_cert, &server.tls_cert), (names::tls_key, &server.tls_key)];
        Self::named(pair, None, &[b"http/1.1"])
    }

    /// For RESP, where settings name one.
    pub fn resp(settings: &Settings) -> Result<Option<Arc<Self>>, String> {
        let server = &settings.server;
        let pair = [
            (names::resp_tls_cert, &server.resp_tls_cert),
            (names::resp_tls_key, &server.resp_tls_key),
        ];
        Self::named(pair, Some((names::resp_tls_client_ca, &server.resp_tls_client_ca)), &[])
    }

    fn named(
        [certificate, key]: [(Name, &Option<String>); 2],
        clients: Option<(Name, &Option<String>)>,
        protocols: &'static [&'static [u8]],
    ) -> Result<Option<Arc<Self>>, String> {
        let path = |(name, file): (Name, &Option<String>)| {
            file.as_deref().map(|file| (name, PathBuf::from(file)))
        };
        let needs = |given: Name, wanted: Name| {
            Err(format!("{} needs {} beside it", given.as_ref(), wanted.as_ref()))
        };
        let clients = clients.and_then(path);
        match (path(certificate), path(key)) {
            (Some(certificate), Some(key)) => {
                Self::load(Files { certificate, key, clients, protocols }).map(Some)
            }
            (Some(_), None) => needs(certificate.0, key.0),
            (None, Some(_)) => needs(key.0, certificate.0),
            (None, None) => match clients {
                Some((given, _)) => needs(given, certificate.0),
                None => Ok(None),
            },
        }
    }

    fn load(files: Files) -> Result<Arc<Self>, String> {
        let texts = files.read()?;
        let config = RwLock::new(files.config(&texts)?);
        let identity = Arc::new(Identity { files, config });
        tokio::spawn(watch(Arc::downgrade(&identity), texts));
        Ok(identity)
    }

    /// The configuration of the next handshake.
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config.read())
    }
}

/// Looks at the files for as long as somebody listens with them.
async fn watch(identity: Weak<Identity>, mut used: Texts) {
    let mut every = tokio::time::interval(LOOK_EVERY);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let told = kernel::LogOnce::new();
    loop {
        every.tick().await;
        let Some(identity) = identity.upgrade() else { return };
        let files = identity.files.clone();
        let Ok(found) = tokio::task::spawn_blocking(move || files.read()).await else { return };
        let certificate = identity.files.certificate.1.display();
        let fresh = found.and_then(|texts| {
            if texts == used {
                return Ok(None);
            }
            identity.files.config(&texts).map(|config| Some((texts, config)))
        });
        match fresh {
            Ok(fresh) => {
                told.well("tls");
                if let Some((texts, config)) = fresh {
                    *identity.config.write() = config;
                    used = texts;
                    tracing::info!(%certificate, "the certificate has changed and is used");
                }
            }
            Err(error) if told.is_news("tls", &error) => {
                tracing::warn!(error, "the new certificate is not used, the old one stays");
            }
            Err(_) => {}
        }
    }
}

impl Files {
    fn read(&self) -> Result<Texts, String> {
        let read = |(name, path): &(Name, PathBuf)| {
            std::fs::read(path).map_err(|error| wrong(*name, path, &error))
        };
        Ok(Texts {
            certificate: read(&self.certificate)?,
            key: read(&self.key)?,
            clients: self.clients.as_ref().map(read).transpose()?,
        })
    }

    fn config(&self, texts: &Texts) -> Result<Arc<ServerConfig>, String> {
        let chain = certificates(&self.certificate, &texts.certificate)?;
        let (name, path) = &self.key;
        let key = PrivateKeyDer::from_pem_slice(&texts.key)
            .map_err(|_| wrong(*name, path, "it holds no private key in PEM"))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
            .map_err(|error| error.to_string())?;
        let builder = match (&self.clients, &texts.clients) {
            (Some(file), Some(text)) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(file, text)? {
                    roots.add(certificate).map_err(|error| wrong(file.0, &file.1, &error))?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
                let verifier = verifier.build().map_err(|error| wrong(file.0, &file.1, &error))?;
                builder.with_client_cert_verifier(verifier)
            }
            _ => builder.with_no_client_auth(),
        };
        let mut config = builder.with_single_cert(chain, key).map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => {
                let certificate = self.certificate.1.display();
                wrong(*name, path, &format!("it is not the key of {certificate}"))
            }
            other => wrong(self.certificate.0, &self.certificate.1, &other),
        })?;
        config.alpn_protocols = self.protocols.iter().map(|name| name.to_vec()).collect();
        Ok(Arc::new(config))
    }
}

fn certificates(
    (name, path): &(Name, PathBuf),
    text: &[u8],
) -> Result<Vec<CertificateDer<'static>>, String> {
    match CertificateDer::pem_slice_iter(text).collect::<Result<Vec<_>, _>>() {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(wrong(*name, path, "it holds no certificate in PEM")),
    }
}

fn wrong(name: Name, path: &Path, why: &(impl std::fmt::Display + ?Sized)) -> String {
    format!("{}: {}: {why}", name.as_ref(), path.display())
}
