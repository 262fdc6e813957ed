//! Users: what their rules allow, what they are told, and what is noted.

use crate::talk::{Socket, say, served};
use engine::{Connection, Engine};

fn user(engine: &Engine, rules: &str) -> Connection {
    let admin = engine.connect();
    assert_eq!(say(&admin, &format!("ACL SETUSER ann on >pw {rules}")), "OK");
    let connection = engine.connect();
    assert_eq!(say(&connection, "AUTH ann pw"), "OK");
    connection
}

const NO_KEY: &str =
    "NOPERM this user has no permissions to access one of the keys used as arguments";

#[test]
fn keys_are_read_and_written_as_the_patterns_say() {
    let engine = Engine::memory();
    let ann = user(&engine, "+@all %R~in:* %W~out:* ~both:*");
    assert_eq!(say(&ann, "GET in:1"), "nil");
    assert_eq!(say(&ann, "SET in:1 v"), NO_KEY);
    assert_eq!(say(&ann, "SET out:1 v"), "OK");
    assert_eq!(say(&ann, "SET out:1 v GET"), NO_KEY);
    assert_eq!(say(&ann, "GET out:1"), NO_KEY);
    assert_eq!(say(&ann, "COPY in:1 out:2"), "0");
    assert_eq!(say(&ann, "COPY out:1 in:2"), NO_KEY);
    assert_eq!(say(&ann, "MGET both:1 other"), NO_KEY);
    assert_eq!(say(&ann, "EVAL return(1) 1 other"), NO_KEY);
}

#[test]
fn commands_are_allowed_by_name_subcommand_category_and_first_argument() {
    let engine = Engine::memory();
    let ann = user(&engine, "~* -@all +@read -mget +config|get +select|3");
    assert_eq!(say(&ann, "GET k"), "nil");
    assert_eq!(
        say(&ann, "MGET k"),
        "NOPERM this user has no permissions to run the 'mget' command"
    );
    assert_eq!(say(&ann, "CONFIG GET port"), "[port 0]");
    assert_eq!(
        say(&ann, "CONFIG SET port 1"),
        "NOPERM this user has no permissions to run the 'config|set' command"
    );
    assert_eq!(say(&ann, "SELECT 3"), "OK");
    assert!(say(&ann, "SELECT 4").starts_with("NOPERM"));
}

#[test]
fn a_selector_allows_what_it_says_as_a_whole() {
    let engine = Engine::memory();
    let ann = user(&engine, "+get ~read:* (+set ~write:*)");
    assert_eq!(say(&ann, "GET read:1"), "nil");
    assert_eq!(say(&ann, "SET write:1 v"), "OK");
    assert_eq!(say(&ann, "SET read:1 v"), NO_KEY);
    assert_eq!(say(&ann, "GET write:1"), NO_KEY);
}

#[test]
fn rights_hold_inside_transactions_and_scripts() {
    let engine = Engine::memory();
    let ann = user(&engine, "+@all -set ~a");
    assert_eq!(say(&ann, "MULTI"), "OK");
    assert!(say(&ann, "SET a 1").starts_with("NOPERM"));
    assert!(say(&ann, "EXEC").starts_with("EXECABORT"));
    let reply = say(&ann, "EVAL return(redis.call('set','a','1')) 0");
    assert!(
        reply.starts_with("ERR The user executing the script can't run this command"),
        "{reply}"
    );
    assert_eq!(say(&engine.connect(), "GET a"), "nil");
    let log = say(&engine.connect(), "ACL LOG 1");
    assert!(log.contains("reason command context lua object set username ann"), "{log}");
}

#[test]
fn channels_are_checked_and_listeners_lose_what_they_may_not_hear() {
    let (engine, listener) = served();
    let _ = user(&engine, "+@all ~* resetchannels &news:*");
    let mut ann = Socket::open(&listener);
    assert_eq!(ann.say("AUTH ann pw"), "OK");
    assert_eq!(
        ann.say("PSUBSCRIBE news:a*"),
        "NOPERM this user has no permissions to access one of the channels used as arguments"
    );
    assert_eq!(ann.say("SUBSCRIBE news:a"), "[subscribe news:a 1]");
    say(&engine.connect(), "ACL SETUSER ann resetchannels");
    assert_eq!(ann.read(), "(closed)");
}

#[test]
fn users_are_told_back_as_rules() {
    let engine = Engine::memory();
    let admin = engine.connect();
    say(&admin, "ACL SETUSER bob ~a %R~b &c +@all -@admin -get");
    assert_eq!(
        say(&admin, "ACL LIST"),
        "[user bob off ~a %R~b resetchannels &c +@all -@admin -get user default on nopass ~* &* +@all]"
    );
    assert_eq!(say(&admin, "ACL DRYRUN bob SET a v"), "OK");
    assert_eq!(
        say(&admin, "ACL DRYRUN bob SET b v"),
        "This user has no permissions to access the 'b' key"
    );
    assert_eq!(say(&admin, "ACL DELUSER bob nobody"), "1");
    assert_eq!(say(&admin, "ACL DELUSER default"), "ERR The 'default' user cannot be removed");
    assert_eq!(say(&admin, "ACL GETUSER bob"), "nil");
}

#[test]
fn a_wrong_rule_changes_nothing() {
    let engine = Engine::memory();
    let admin = engine.connect();
    assert_eq!(
        say(&admin, "ACL SETUSER eve on +nosuch"),
        "ERR Error in ACL SETUSER modifier '+nosuch': Unknown command or category name in ACL"
    );
    assert_eq!(say(&admin, "ACL GETUSER eve"), "nil");
    for (rules, why) in [
        ("~* ~a", "ERR Error in ACL SETUSER modifier '~a': Adding a pattern after the * pattern"),
        ("#zz", "ERR Error in ACL SETUSER modifier '#zz': The password hash must be exactly 64"),
        ("<none", "ERR Error in ACL SETUSER modifier '<none': The password you are trying"),
        ("(+get ~a", "ERR Unmatched parenthesis in acl selector starting at '(+get'."),
        ("%X~a", "ERR Error in ACL SETUSER modifier '%X~a': Syntax error"),
    ] {
        let reply = say(&admin, &format!("ACL SETUSER eve {rules}"));
        assert!(reply.starts_with(why), "{rules}: {reply}");
    }
}

#[test]
fn like_refusals_are_one_line_in_the_log() {
    let engine = Engine::memory();
    let ann = user(&engine, "-@all +get ~a");
    for _ in 0..3 {
        say(&ann, "GET b");
    }
    let admin = engine.connect();
    let log = say(&admin, "ACL LOG");
    assert!(
        log.starts_with("[[count 3 reason key context toplevel object b username ann"),
        "{log}"
    );
    assert_eq!(say(&admin, "ACL LOG RESET"), "OK");
    assert_eq!(say(&admin, "ACL LOG"), "[]");
}
