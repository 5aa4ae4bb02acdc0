"""What is printed of a sweep."""


def say(text):
    print(text, flush=True)


def tell_causes(report):
    for cause in report.get("causes", []):
        say(f"    {cause['cause']} ({cause['places']} places)\n    {cause['repeat']}")
