"""The engines: ``cellsim/`` has the model, ``shadow/`` and ``emulation/`` run real tor.

:mod:`contract` says what an engine is, :mod:`run_spec` is the file it reads, :mod:`prepare` writes that.
"""
