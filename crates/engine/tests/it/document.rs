//! `docs/engine.md` lists exactly the commands that exist.

#[test]
fn the_command_list_of_the_document_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/engine.md");
    let text = std::fs::read_to_string(path).unwrap();
    let from = text.find("<!-- from the command table").unwrap();
    let from = from + text[from..].find('\n').unwrap() + 1;
    let to = text.find("<!-- /commands -->").unwrap();
    let list = engine::fuzzing::command_list();
    if text[from..to] == list {
        return;
    }
    assert!(
        std::env::var_os("UPDATE_EXPECT").is_some(),
        "docs/engine.md is not up to date: run this test with UPDATE_EXPECT=1"
    );
    std::fs::write(path, [&text[..from], &list, &text[to..]].concat()).unwrap();
}
