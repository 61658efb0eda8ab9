"""Puts the notebooks of `tutorials` among the pages."""

from pathlib import Path

from mkdocs.plugins import event_priority
from mkdocs.structure.files import File


@event_priority(50)  # before mkdocs-jupyter looks for notebooks
def on_files(files, config):
    """Adds them to the files of the site."""
    root = Path(config.config_file_path).parent
    for notebook in sorted(root.glob("tutorials/*.ipynb")):
        files.append(
            File(
                notebook.relative_to(root).as_posix(),
                src_dir=str(root),
                dest_dir=config.site_dir,
                use_directory_urls=config.use_directory_urls,
            )
        )
    return files
