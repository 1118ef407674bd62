"""The audits that come with equiview, and the question of each.

An audit is a folder of that name, and there in capitals.
"""

from typing import Any

from equiview.data.registry import Registry

AUDITS: Registry[Any] = Registry("audit", "equiview.audits", "equiview.audits.base:Audit")

QUESTIONS = {
    "amplification": "Do answers or captions lean on who is shown more than what people say?",
    "association": "Does the language of a query pull in images of its culture over images of what was "
    "asked?",
    "decorrelation": "Does it name objects that are not there because they usually are?",
    "individual": "Do captions that say the same in different languages relate differently to the same "
    "image?",
    "knowledge": "Does what the model knows depend on the language it is asked in?",
    "memory": "Does the model describe a place better in some languages than in others?",
    "parity": "Does accuracy differ across languages, or across people within and across languages?",
    "prevalence": "Do captions in some languages crowd out equally right ones in others?",
    "social": "Are people of some groups shown more for prompts that name no group, or matched better?",
}

for _name, _question in QUESTIONS.items():
    AUDITS.place(f"equiview.audits.{_name}:{_name.upper()}", _question, _name)
