//! TLS on a socket of the listening door. The session keeps what it has encrypted and the system has not taken; nothing
//! more is encrypted before that is out, so it stays small.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::sync::Arc;

use mio::net::TcpStream;
use rustls::{ServerConfig, ServerConnection};

/// Gives the certificate to show now; asked at every handshake, since certificates are renewed.
pub(crate) type Configs = Arc<dyn Fn() -> Arc<ServerConfig> + Send + Sync>;

/// A TCP socket with a session of TLS.
pub(crate) struct TlsStream {
    tcp: TcpStream,
    session: Box<ServerConnection>,
    /// Encrypted bytes that the system took.
    sent: u64,
}

impl TlsStream {
    pub(crate) fn new(tcp: TcpStream, config: Arc<ServerConfig>) -> io::Result<Self> {
        let session = ServerConnection::new(config).map_err(io::Error::other)?;
        Ok(TlsStream { tcp, session: Box::new(session), sent: 0 })
    }

    pub(crate) fn tcp(&self) -> &TcpStream {
        &self.tcp
    }

    pub(crate) fn tcp_mut(&mut self) -> &mut TcpStream {
        &mut self.tcp
    }

    /// Encrypted bytes wait for the system.
    pub(crate) fn owes(&self) -> bool {
        self.session.wants_write()
    }

    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }

    /// Goes on with the handshake as far as the peer's bytes reach; `WouldBlock` before its end.
    pub(crate) fn handshake(&mut self) -> io::Result<()> {
        while self.session.is_handshaking() {
            self.flush()?;
            if self.feed()? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        self.flush_some()
    }

    /// Gives the session what has come. Gives 0 at the end of the stream.
    fn feed(&mut self) -> io::Result<usize> {
        let read = self.session.read_tls(&mut self.tcp)?;
        if let Err(error) = self.session.process_new_packets() {
            // The alert tells the peer why.
            let _ = self.flush();
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        Ok(read)
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.session.wants_write() {
            self.sent += self.session.write_tls(&mut self.tcp)? as u64;
        }
        Ok(())
    }

    /// The same as far as it goes now.
    fn flush_some(&mut self) -> io::Result<()> {
        match self.flush() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            done => done,
        }
    }

    /// As of a socket: `WouldBlock` when there is nothing, 0 at the end.
    pub(crate) fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.session.reader().read(buf) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // The peer left without goodbye; a call that is not whole is not run.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                done => return done,
            }
            self.feed()?;
            self.flush_some()?;
        }
    }

    /// As of a socket: `WouldBlock` while what was encrypted before waits. Without bytes it only sends that.
    pub(crate) fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.flush()?;
        if buf.is_empty() {
            return Ok(0);
        }
        let taken = self.session.writer().write(buf)?;
        self.flush_some()?;
        Ok(taken)
    }

    /// Says goodbye and sends nothing more.
    pub(crate) fn shutdown(&mut self) -> io::Result<()> {
        self.session.send_close_notify();
        self.flush()?;
        self.tcp.shutdown(Shutdown::Write)
    }
}
