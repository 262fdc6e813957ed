//! One connection as bytes: opened, logged in and checked, then a writer of commands and a reader of
//! replies. It knows no deadline and no retry; whoever uses it does, and drops it when in doubt.

use std::time::Duration;

use bytes::BytesMut;
use kernel::{Cmd, Value};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::address::{Access, Endpoint, Login};
use crate::error::ConnectError;
use crate::reply::{self, Reader};

/// Any byte stream: TCP, TLS, a Unix socket, or a pipe in memory.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// How connections to one kind of server are made.
#[derive(Clone)]
pub(crate) struct Connector {
    pub(crate) login: Login,
    pub(crate) db: u32,
    pub(crate) tls: Option<TlsConnector>,
    /// For the socket itself: short, so that a host that comes back is found soon.
    pub(crate) connect: Duration,
    /// For TLS and login together.
    pub(crate) handshake: Duration,
    /// Only a primary will do (behind Sentinel, where an old one may still answer).
    pub(crate) primary_only: bool,
}

impl Connector {
    /// The user that logs in, if one is named.
    pub(crate) fn user(&self) -> Option<&str> {
        self.login.user.as_deref()
    }

    pub(crate) fn new(access: &Access, options: &crate::Options) -> Result<Self, ConnectError> {
        Ok(Connector {
            login: access.login.clone(),
            db: access.db,
            tls: access.tls.as_ref().map(crate::tls::connector).transpose()?,
            connect: options.connect,
            handshake: options.handshake,
            primary_only: false,
        })
    }

    /// Connects, logs in and makes sure that a Redis answers.
    pub(crate) async fn open(&self, address: &Endpoint) -> Result<RawConnection, ConnectError> {
        let stream = self.stream(address).await?;
        let late =
            || ConnectError::Gone(format!("{address} accepts connections but does not answer"));
        let mut connection = RawConnection::new(stream);
        timeout(self.handshake, self.greet(&mut connection)).await.map_err(|_| late())??;
        Ok(connection)
    }

    async fn stream(&self, address: &Endpoint) -> Result<Box<dyn Stream>, ConnectError> {
        let late = || ConnectError::Gone(format!("{address} does not answer"));
        match address {
            Endpoint::Unix(path) => {
                let stream = timeout(self.connect, UnixStream::connect(path)).await;
                Ok(Box::new(stream.map_err(|_| late())??))
            }
            Endpoint::Tcp(host, port) => {
                let stream = self.tcp(host, *port).await?;
                stream.set_nodelay(true)?;
                match &self.tls {
                    None => Ok(Box::new(stream)),
                    Some(tls) => {
                        let shake = crate::tls::shake(tls, host, stream);
                        // A plain Redis waits for the end of a line that never comes.
                        let silent = |_| {
                            ConnectError::Gone(format!(
                                "{address} does not answer in TLS; for a plain port write redis://"
                            ))
                        };
                        Ok(Box::new(timeout(self.handshake, shake).await.map_err(silent)??))
                    }
                }
            }
        }
    }

    // Looking up a name may take longer than connecting should.
    async fn tcp(&self, host: &str, port: u16) -> Result<TcpStream, ConnectError> {
        let lookup = timeout(self.handshake, tokio::net::lookup_host((host, port))).await;
        let unknown = || ConnectError::Gone(format!("the name {host} is not known"));
        let mut last = unknown();
        for addr in lookup.map_err(|_| unknown())?.map_err(|_| unknown())? {
            match timeout(self.connect, TcpStream::connect(addr)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => last = error.into(),
                Err(_) => last = ConnectError::Gone(format!("{addr} does not answer")),
            }
        }
        Err(last)
    }

    // Everything in one write; each reply is looked at in turn.
    async fn greet(&self, connection: &mut RawConnection) -> Result<(), ConnectError> {
        let mut bytes = Vec::new();
        let mut steps = Vec::new();
        let mut say = |step: LoginStep, cmd: &Cmd| {
            cmd.write_packed_command(&mut bytes);
            steps.push(step);
        };
        if let Some(password) = &self.login.password {
            let mut auth = redis::cmd("AUTH");
            if let Some(user) = &self.login.user {
                auth.arg(user);
            }
            say(LoginStep::Auth, auth.arg(password));
        }
        if self.db != 0 {
            say(LoginStep::Select, redis::cmd("SELECT").arg(self.db));
        }
        say(LoginStep::Name, redis::cmd("CLIENT").arg("SETNAME").arg("worldkeep"));
        if self.primary_only {
            say(LoginStep::Role, &redis::cmd("ROLE"));
        }
        say(LoginStep::Ping, &redis::cmd("PING"));
        connection.write(&bytes).await?;
        for step in steps {
            let value = match connection.read().await {
                Err(ConnectError::Gone(reason)) => {
                    return Err(ConnectError::Gone(hint(self.tls.is_some(), reason)));
                }
                other => other?,
            };
            step.judge(&value)?;
        }
        Ok(())
    }
}

fn hint(tls: bool, reason: String) -> String {
    if tls { reason } else { format!("{reason} (if the port speaks TLS, write rediss://)") }
}

#[derive(Clone, Copy, PartialEq)]
enum LoginStep {
    Auth,
    Select,
    Name,
    Role,
    Ping,
}

impl LoginStep {
    fn judge(self, value: &Value) -> Result<(), ConnectError> {
        if let Value::ServerError(error) = value {
            let text = format!("{} {}", error.code(), error.details().unwrap_or_default());
            return match (error.code(), self) {
                // These come unasked, before the server hangs up.
                ("DENIED", _) => Err(ConnectError::NotAllowed(
                    "it is in protected mode and takes only connections from its own machine; set \
                     a password there"
                        .to_owned(),
                )),
                ("ERR", _) if text.contains("max number of clients") => Err(ConnectError::NotYet(
                    "it has no room for another client; raise its maxclients".to_owned(),
                )),
                ("LOADING", _) => Err(ConnectError::NotYet("it is loading its data".to_owned())),
                ("MASTERDOWN", _) => {
                    Err(ConnectError::NotYet("it has lost its primary".to_owned()))
                }
                ("NOAUTH", LoginStep::Ping) => {
                    Err(ConnectError::Login("it wants a password".to_owned()))
                }
                ("NOAUTH" | "NOPERM", _) => Ok(()),
                ("WRONGPASS", _) | (_, LoginStep::Auth) => Err(ConnectError::Login(text)),
                (_, LoginStep::Ping | LoginStep::Select) => Err(ConnectError::NotAllowed(text)),
                _ => Ok(()),
            };
        }
        let fits = match self {
            LoginStep::Ping => reply::text(value).is_some_and(|text| text == "PONG"),
            LoginStep::Role => match value {
                Value::Array(parts) => match parts.first().and_then(reply::text) {
                    Some(role) if role == "master" => true,
                    _ => return Err(ConnectError::NotYet("it is no primary (yet)".to_owned())),
                },
                _ => false,
            },
            _ => matches!(value, Value::Okay),
        };
        if fits {
            Ok(())
        } else {
            Err(ConnectError::ProtocolError("it answers PING with something else".to_owned()))
        }
    }
}

/// An open connection, used by one owner in order.
pub(crate) struct RawConnection {
    stream: Box<dyn Stream>,
    reader: Reader,
    bytes: BytesMut,
}

impl RawConnection {
    pub(crate) fn new(stream: Box<dyn Stream>) -> Self {
        RawConnection { stream, reader: Reader::default(), bytes: BytesMut::with_capacity(4096) }
    }

    /// All of these bytes.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> Result<(), ConnectError> {
        self.write_parts(&[bytes]).await
    }

    /// One after the other.
    pub(crate) async fn write_parts(&mut self, parts: &[&[u8]]) -> Result<(), ConnectError> {
        for bytes in parts {
            self.stream.write_all(bytes).await?;
        }
        self.stream.flush().await?;
        Ok(())
    }

    /// The next reply.
    pub(crate) async fn read(&mut self) -> Result<Value, ConnectError> {
        loop {
            if let Some(value) = self.here()? {
                return Ok(value);
            }
            self.more().await?;
        }
    }

    /// The next reply, if all of it has arrived.
    fn here(&mut self) -> Result<Option<Value>, ConnectError> {
        self.reader.next(&mut self.bytes).map_err(|garbage| foreign(&garbage.0))
    }

    async fn more(&mut self) -> Result<(), ConnectError> {
        if self.stream.read_buf(&mut self.bytes).await? == 0 {
            return Err(ConnectError::Gone("the connection was closed".to_owned()));
        }
        Ok(())
    }

    /// Reads `count` replies. With `queued`, a reply that only says that a command was queued is
    /// counted and left out.
    pub(crate) async fn replies(
        &mut self,
        mut count: usize,
        queued: bool,
    ) -> Result<Vec<Value>, ConnectError> {
        let mut values = Vec::with_capacity(if queued { 4 } else { count });
        while count > 0 {
            if queued {
                // The last one is that of `EXEC`.
                count -= self.reader.pass_queued(&mut self.bytes, count - 1);
            }
            match self.here()? {
                Some(value) => {
                    values.push(value);
                    count -= 1;
                }
                None => self.more().await?,
            }
        }
        Ok(values)
    }

    /// Whether it is open and has nothing to say: closed, or with an answer nobody waits for, it is not.
    pub(crate) fn is_quiet(&mut self) -> bool {
        use futures_util::FutureExt as _;
        self.bytes.is_empty() && self.stream.read_buf(&mut self.bytes).now_or_never().is_none()
    }

    pub(crate) fn into_parts(self) -> (Box<dyn Stream>, BytesMut) {
        (self.stream, self.bytes)
    }
}

fn foreign(text: &str) -> ConnectError {
    // The first byte of a TLS alert.
    if text.contains("\\u{15}") {
        return ConnectError::Tls("the server speaks TLS: write rediss://".to_owned());
    }
    if text.contains("HTTP/") {
        return ConnectError::ProtocolError(format!(
            "{text}; a web server listens there, check the port"
        ));
    }
    ConnectError::ProtocolError(format!("{text}; check the port"))
}
