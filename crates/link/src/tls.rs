//! TLS by rustls with ring. Certificates are verified against the system's authorities or a named file;
//! only `?insecure=true` skips that, and the store's status then says so.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::address::Tls;
use crate::error::ConnectError;

/// A connector for these settings; reading the authorities is done once.
pub(crate) fn connector(tls: &Tls) -> Result<TlsConnector, ConnectError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| ConnectError::Tls(error.to_string()))?;
    let config = if tls.insecure {
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anyone(provider)))
            .with_no_client_auth()
    } else {
        builder.with_root_certificates(authorities(tls)?).with_no_client_auth()
    };
    Ok(TlsConnector::from(Arc::new(config)))
}

fn authorities(tls: &Tls) -> Result<RootCertStore, ConnectError> {
    let mut roots = RootCertStore::empty();
    let Some(file) = &tls.authorities else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return if roots.is_empty() {
            Err(ConnectError::Tls(
                "this system has no certificate authorities; install ca-certificates or name a \
                 file with ?ca=FILE"
                    .to_owned(),
            ))
        } else {
            Ok(roots)
        };
    };
    let unreadable = |detail: String| {
        ConnectError::Tls(format!("cannot read the authorities in {}: {detail}", file.display()))
    };
    let certificates = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unreadable(error.to_string()))?;
    for certificate in certificates {
        roots.add(certificate).map_err(|error| unreadable(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(unreadable("it holds no certificate".to_owned()));
    }
    Ok(roots)
}

/// Shakes hands on an open socket.
pub(crate) async fn shake(
    connector: &TlsConnector,
    host: &str,
    stream: TcpStream,
) -> Result<TlsStream<TcpStream>, ConnectError> {
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| ConnectError::Tls(format!("{host} is no name a certificate can have")))?;
    connector.connect(name, stream).await.map_err(|error| explain(&error))
}

fn explain(error: &std::io::Error) -> ConnectError {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(why)) => ConnectError::Tls(format!(
            "the certificate is not trusted ({why:?}); name its authority with ?ca=FILE"
        )),
        Some(rustls::Error::InvalidMessage(_)) => ConnectError::Tls(
            "the server does not speak TLS; for a plain port write redis://".to_owned(),
        ),
        Some(other) => ConnectError::Tls(other.to_string()),
        None if error.kind() == std::io::ErrorKind::UnexpectedEof => ConnectError::Gone(
            "the connection was closed during the TLS handshake; for a plain port write redis://"
                .to_owned(),
        ),
        None => ConnectError::Gone(crate::error::plain(error)),
    }
}

/// Believes whoever answers; signatures are still checked, so the stream cannot be altered by a third.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let schemes = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, schemes)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let schemes = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, schemes)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
