"""A talk as a reading: the ordinary page, with the scene's title and note at its foot.

The address holds the talk and the scene, so links and the browser's Back work.
"""

from viz.browser.reader import reader
from viz.draw.keys import Keys
from viz.draw.labels import visible
from viz.registry.pages import SCENE
from viz.shell import address, stage
from viz.talk.own_talks import is_reading, leave_reading, shown_talk

READER = Keys("reader")


def show_reading() -> None:
    """Show the text of the scene; call it after the page and after `title_scene`.

    Shows nothing on stage, where the notes are for the speaker.
    """
    talk = shown_talk()
    if not is_reading() or talk is None:
        return
    number = address.now(SCENE)
    scene = talk.scene(number)
    reader(
        {
            "talk": visible(talk.title),
            "count": len(talk.scenes),
            "number": number if scene else 0,
            "title": visible(scene.title) if scene else "",
            "note": scene.note if scene else "",
            "views": stage.scene_views() if scene else None,
        },
        key=READER("text"),
        on_leave=leave_reading,
    )
