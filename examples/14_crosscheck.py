"""The same released finger in two engines, where the second one is installed."""

import sys

import softgrasp as sg

release = sg.io.load_release("paper000_release")
try:
    checked = sg.comparison.crosscheck(release, ("mujoco", "ode"), quick=True)
except sg.BackendUnavailable as missing:
    sys.exit(print(missing))
for finding in checked.findings:
    print(finding.sentence)
