//! The server fixture: starts, dies, comes back on the same port and directory, and leaves nothing.

use testkit::{Setup, programs};

#[test]
fn a_killed_server_comes_back_with_its_log() {
    for program in programs() {
        let mut server =
            Setup::new(program).args(["--appendonly", "yes", "--appendfsync", "always"]).start();
        assert_eq!(server.ask(&["SET", "key", "value"]), "+OK\r\n");
        let port = server.port();
        server.kill();
        assert!(testkit::ask(server.addr(), &["PING"]).is_err(), "it is gone");
        server.restart();
        assert_eq!(server.port(), port);
        assert_eq!(server.ask(&["GET", "key"]), "$5\r\nvalue\r\n");
    }
}

#[test]
fn a_dropped_server_is_gone() {
    for program in programs() {
        let server = testkit::Server::start(program);
        let (addr, dir) = (server.addr(), server.dir().to_owned());
        drop(server);
        assert!(testkit::ask(addr, &["PING"]).is_err());
        assert!(!dir.exists());
    }
}
