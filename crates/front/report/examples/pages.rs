//! Writes a page with every kind of outcome into a folder, for viewing:
//! `cargo run --example pages -- DIR`.

#[path = "../tests/samples/mod.rs"]
mod samples;

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "target/report-pages".to_owned());
    std::fs::create_dir_all(&folder)?;
    for (name, report) in samples::all() {
        let path = format!("{folder}/{name}.html");
        let page = secateur_report::html(&report);
        std::fs::write(&path, &page)?;
        println!("{path}: {} bytes", page.len());
    }
    Ok(())
}
