"""Lists of English words for the tokeniser by rule; abbreviations are without their last period."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEVER_FINAL = _words(
    "Mr Mrs Ms Messrs Dr Prof Rev Hon Gen Sen Sens Rep Reps Gov Lt Col Sgt Capt Cmdr Maj Adm Pres Supt St Mt Ft "
    "vs v cf e.g i.e viz Fig pp"
)
"""Abbreviations that something always follows."""

NUMBERED = _words("No Nos no nos p Art Sec")
"""Abbreviations before a number; otherwise they are words."""

ABBREVIATIONS = _words(
    "Inc Corp Co Cos Ltd Bros Jr Sr Ph.D etc al Esq Assn Dept Univ Ave Blvd Rd Pty Plc "
    "Jan Feb Mar Apr Jun Jul Aug Sept Sep Oct Nov Dec Mon Tues Tue Wed Thurs Thu Fri "
    "Ala Ariz Ark Calif Colo Conn Del Fla Ga Ill Ind Kan Ky La Mass Md Mich Minn Miss Mo Mont Neb Nev Okla Ore Pa Tenn "
    "Tex Va Vt Wash Wis Wyo approx dept est"
)
"""Abbreviations that may also be the last word of a sentence."""

STARTERS = _words(
    "A After All Although Among An And Another Any As At Because Before But By Despite Each Even For From He Her Here "
    "His How However I If In It Its Last Many Meanwhile Most Mr Mrs Ms My No Nor Not Now On One Only Or Other Our "
    "Over She Since So Some Still Such That The Their Then There These They This Those Though To Two Under Until We "
    "Well What When Where Whether Which While Who Why With Yes Yet You Your"
)
"""Words with which a sentence begins after an abbreviation; other capitalised words continue the sentence."""
